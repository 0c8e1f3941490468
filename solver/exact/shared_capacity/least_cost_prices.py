"""
Prices to begin with where every service is whole: what it takes of GPUs of least cost, and what its rate is worth.

Let p_w be prices of services, in GPUs, at which no GPU of one type that serves them is worth more than 1: those of a
great bound on cost (exact/surroundings). If a GPU is worth V requests/s, w takes p_w V of it where it carries no more
than its rate R_w, so that it should be paid u_w = p_w V - a_w R_w for being there; but where it stands alone, and
carries H_w, no more than V - a_w H_w, or that would be worth more than V. With

    u_w = min(p_w V - a_w R_w, V - a_w H_w)

contents with rates alone are worth at most V, and so are those of one resident; what lies between is worth about as
much. V is not known, but by what the contents that are known are worth: the caller chooses. These are only prices to
begin with: what is proven at them (prices.py) does not rest on this.
"""

import time
from collections.abc import Sequence

import numpy as np

from ...allocation.allocated import MpsGpu
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..mps.items import mps_items
from ..surroundings.customers import customers_of
from ..surroundings.price_search import PriceSearch
from .alone import carried_alone
from .figures import Figures
from .prices import MasterPrices

WORTH = (0.98, 1.0, 1.01, 1.02, 1.03, 1.04, 1.06, 1.08, 1.1, 1.15, 1.2)
"""What a GPU may be worth, in parts of the most that one resident carries alone."""

FLAT_ROUNDS, RISE = 3, 1e-3
"""Rounds without a bound greater by such a part of it after which there are no more."""


def prices_of_least_cost(
    resolved: ResolvedProblem, figures: Figures, weights: Floats, plan: Sequence[MpsGpu], *, deadline: float
) -> list[MasterPrices]:
    """
    Returns prices for what a GPU may be worth; empty where services may be split, or no price was found in time.

    Parameters
    ----------
    figures
        Of the only GPU type.
    weights
        Shape (workload,): what a request/s counts, above 0.
    plan
        Serves the rates; prices of cost are looked for in its surroundings.
    """
    parts = _parts_of_gpus(resolved, plan, deadline)
    if parts is None:
        return []
    alone = weights * carried_alone(figures).max(axis=1, initial=0.0)
    found = []
    for of_most in WORTH:
        worth = of_most * float(alone.max(initial=0.0))
        paid = np.minimum(parts * worth - weights * resolved.required_rps, worth - alone)
        found.append(MasterPrices(np.zeros(len(paid)), np.maximum(-paid, 0.0), np.maximum(paid, 0.0)))
    return found


def _parts_of_gpus(resolved: ResolvedProblem, plan: Sequence[MpsGpu], deadline: float) -> Floats | None:
    """Returns the part of a GPU that each service is worth where cost is least, shape (workload,)."""
    shared = mps_items(resolved, parts=False)
    customers = customers_of(resolved, shared)
    if customers is None or time.monotonic() >= deadline:
        return None
    search = PriceSearch.near(resolved, customers, plan)
    flat = 0
    while flat < FLAT_ROUNDS and time.monotonic() < deadline:
        before = search.bound
        flat = 0 if search.next_round(deadline) > before * (1 + RISE) else flat + 1
    parts = np.zeros(len(resolved.required_rps))
    for one, price in zip(shared.classes, search.centre.tolist(), strict=True):
        parts[list(one.members)] = price / customers.types[0].usd_per_hour
    return parts
