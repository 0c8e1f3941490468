"""
What prices of the resources of GPUs prove of most capacity under MPS, for any number of services.

A GPU in cell k (cells.py) has U units, at most n_k residents, and asks for at most T_kc in channel c. At prices m_k of
a unit, v_k of a resident and l_kc of what it asks for, none below 0, all that it has costs A_k, and a resident of u
units that asks for d_c costs c:

    A_k = U m_k + n_k v_k + sum_c T_kc l_kc         c = u m_k + v_k + sum_c d_c l_kc

In the cell a resident carries at most h, of which a request/s counts a_w. Let for every service with one replica
x_w be the greatest a_w h - c of all cells, shares and batch sizes with which it may be in time and carry its rate, and
for every other one

    y_w = the least (c - a_w h) / min(h, R_w),     where prices are so great that none is below 0.

At a_w a request/s, y_w more up to R_w of each replica of the latter, less x_w a replica of the former, no content of
cell k is worth more than A_k: its residents are worth no more than what they take costs, and together they take no more
than the GPU has. So the greatest A_k is a V of ../prices.py, with r_w - s_w = x_w. No content had to be looked at; what
is lost is that shares of GPUs are dealt as if they might be of several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats
from ..prices import MasterPrices
from .alike import Alike
from .cells import Entries, SharedCells

ROUNDING = 1e-9
"""Part by which prices are raised, so that rounding lowers none of what they prove."""


@dataclass(frozen=True, eq=False)
class Proven:
    """What prices of resources prove."""

    prices: MasterPrices
    worth: Mapping[str, float]
    """GPU type -> what no content is worth more than."""


def proven_by(fleet: Sequence[SharedCells], resources: Sequence[Floats], once: np.ndarray) -> Proven:
    """
    Returns what prices of resources prove.

    Parameters
    ----------
    resources
        Shape (cell, resource) for each type, not below 0: of a unit, a resident, and each channel.
    once
        Shape (workload,): whether it may have one replica only.
    """
    n = len(once)
    raised = max([1.0, *(_raised(own, prices, once) for own, prices in zip(fleet, resources, strict=True))])
    best, per_rate = np.full(n, -np.inf), np.full(n, -np.inf)
    worth = {}
    for own, prices in zip(fleet, resources, strict=True):
        dear = prices * raised * (1 + ROUNDING)
        worth[own.figures.mps.gpu] = float((own.has * dear).sum(axis=1).max(initial=0.0))
        for alike, entries in zip(own.alike, own.entries, strict=True):
            gain = alike.weight * entries.carried_rps - entries.cost(dear)
            enough, some = _tables(alike, entries, gain)
            mine = alike.members
            full = enough[alike.at_limit, alike.at_rate + 1]
            best[mine] = np.maximum(best[mine], full)
            part = some[alike.at_limit, alike.at_rate]
            per_rate[mine] = np.maximum(per_rate[mine], np.maximum(full / alike.rate_rps, part))
    # Nobody is where no content has anybody.
    charge = np.where(once & np.isfinite(best), best, 0.0)
    of_rate = np.where(~once & np.isfinite(per_rate), np.maximum(-per_rate, 0.0), 0.0)
    return Proven(MasterPrices(of_rate, np.maximum(charge, 0.0), np.maximum(-charge, 0.0)), worth)


def _raised(own: SharedCells, prices: Floats, once: np.ndarray) -> float:
    """Returns the factor on prices at which no resident of those with several replicas gains anything."""
    factor = 1.0
    for alike, entries in zip(own.alike, own.entries, strict=True):
        several = ~once[alike.members]
        if not several.any():
            continue
        in_time = entries.late <= int(alike.at_limit[several].max())
        cost = entries.cost(prices)[in_time]
        gained = alike.weight * entries.carried_rps[in_time]
        with np.errstate(divide="ignore"):
            factor = max(factor, float((gained / cost).max(initial=1.0)))
    return factor


def _tables(alike: Alike, entries: Entries, gain: Floats) -> tuple[Floats, Floats]:
    """
    Returns the most that is gained, by latency limit and number of rates; -inf: nothing may be there.

    First with at least so many rates carried, then, of each request/s, with at most so many.
    """
    shape = (len(alike.limits_ms), len(alike.rates_rps) + 1)
    at = np.ravel_multi_index((entries.late, entries.rates), shape)
    enough, some = np.full(shape, -np.inf), np.full(shape, -np.inf)
    np.maximum.at(enough.reshape(-1), at, gain)
    np.maximum.at(some.reshape(-1), at, gain / entries.carried_rps)
    enough = np.maximum.accumulate(np.maximum.accumulate(enough, axis=0)[:, ::-1], axis=1)[:, ::-1]
    return enough, np.maximum.accumulate(np.maximum.accumulate(some, axis=0), axis=1)
