"""
What a workload takes of GPUs under MPS at least, were they a fluid that is given away in any amounts.

    f_wg = R_w / U  min u / min(throughput, R_w)     over the batch sizes and the shares of u units within the SLO

U: the units of a GPU of type g. Each resident is as fast as alone on its GPU at its share, because neighbours never
make it faster (interference/igniter.py), and carries at most the rate R_w; so no plan carries the rate with fewer GPUs'
worth of units, whatever its number of residents. With another latency rule than that of execution, what is carried is
the greatest rate that it allows at the time of a batch alone, which never rises with that time. A workload that may not
be split takes at least the least share with which it carries all of its rate alone. Every share is looked at: neither
latency nor throughput need be monotone in it (performance/alone.py).

Shares are whole units, so a workload that only GPUs of one type can serve takes f_wg U units rounded up.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.alone import EveryShare, each_kind
from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.execution import within
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem
from .items import classes_of

MOST_COMPARED = 1 << 20
"""Operating points of several workloads that are compared with their SLOs together."""

ROUNDING = 1e-6
"""Part of what is taken, and of a unit, by which a whole number of units may be passed."""


@dataclass(frozen=True, eq=False)
class FluidShares:
    """What workloads take of GPUs under MPS at least. Shapes (workload, type under MPS), in GPUs; inf: not there."""

    gpus: Floats
    """f."""
    least: Floats
    """The smallest share with which a resident carries any of the rate."""


def fluid_shares(resolved: ResolvedProblem) -> FluidShares:
    """Returns what all workloads take."""
    if not resolved.mps:
        nothing = np.zeros((len(resolved.required_rps), 0))
        return FluidShares(nothing, nothing)
    columns = [_of_type(resolved, mps) for mps in resolved.mps.values()]
    gpus, least = (np.stack(own, axis=1) for own in zip(*columns, strict=True))
    return FluidShares(gpus, least)


def fluid_of(resolved: ResolvedProblem, rate: float = 1.0) -> FluidShares:
    """Returns what a multiple of each rate takes, alike workloads once."""
    classes = classes_of(resolved)
    first = resolved.restricted_to([members[0] for members in classes])
    of_class = fluid_shares(first.at_rates(first.required_rps * rate))
    number = np.zeros(len(resolved.required_rps), dtype=np.int64)
    for c, members in enumerate(classes):
        number[list(members)] = c
    return FluidShares(of_class.gpus[number], of_class.least[number])


def whole_units(resolved: ResolvedProblem, gpus: Floats) -> Floats:
    """Returns f, rounded up to whole units for workloads that only GPUs of one type under MPS can serve."""
    units = np.array([float(mps.capacity_units) for mps in resolved.mps.values()])
    there = np.isfinite(gpus)
    alone = (there.sum(axis=1) == 1) & ~resolved.capacity_rps.any(axis=1)
    # A type that serves nobody may have no units left beside its standby shares.
    rows, types = np.nonzero(there & alone[:, None])
    rounded = gpus.copy()
    rounded[rows, types] = np.ceil(gpus[rows, types] * units[types] * (1 - ROUNDING) - ROUNDING) / units[types]
    return rounded


def _of_type(resolved: ResolvedProblem, mps: MpsType) -> tuple[Floats, Floats]:
    fewest, least = (np.full(len(resolved.required_rps), np.inf) for _ in range(2))
    whole = np.array([workload.max_replicas == 1 for workload in resolved.problem.workloads], dtype=bool)
    for rows, alone in each_kind(mps):
        step = max(MOST_COMPARED // alone.points, 1)
        for begin in range(0, len(rows), step):
            own = rows[begin : begin + step]
            carried = _carried(mps, own, alone, resolved.limit_ms[own])
            part = np.minimum(carried / resolved.required_rps[own][:, None], 1.0)
            units = alone.units
            with np.errstate(divide="ignore", over="ignore"):
                taken = np.min(units / part, axis=1)
            all_of_it = np.where(part >= 1 - 1e-9, units, np.inf).min(axis=1)
            fewest[own] = np.where(whole[own], np.maximum(taken, all_of_it), taken) / mps.capacity_units
            least[own] = np.where(part > 0, units, np.inf).min(axis=1) / mps.capacity_units
    return fewest, least


def _carried(mps: MpsType, own: Ints, alone: EveryShare, limit_ms: Floats) -> Floats:
    """Returns the greatest rate of some workloads that one resident carries at each share: (workload, share)."""
    if mps.promise is None:
        fast = within(alone.latency_ms, limit_ms[:, None, None])
        return np.asarray(np.where(fast, alone.throughput_rps, 0.0).max(axis=1))
    asked = mps.promise.asked.of(own)
    shares = range(alone.latency_ms.shape[1])
    found = mps.promise.rule.best_of([(alone.of_share(share), asked) for share in shares])
    return np.stack([carried for _, carried in found], axis=1)
