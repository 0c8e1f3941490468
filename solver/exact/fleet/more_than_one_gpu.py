"""
That services under MPS take two GPUs at least: the bound of a few services, which no cheaper one is near.

Prices say what services cost together, and of services that take most of a GPU that is hardly one. Where no GPU of any
type that costs less than two of the cheapest type holds all (dealt_costs/one_gpu.py), a plan has two GPUs or more.
"""

from dataclasses import replace

import numpy as np

from ...performance.resolve import ResolvedProblem
from ..cost_lattice import NO_GAP
from ..dealt_costs.dealing import asking_of, can_deal
from ..dealt_costs.one_gpu import holds_not_all
from ..dual.lagrangian_data import most_to_pay
from ..mps.items import classes_of
from ..proof import is_within
from .fleet_by_prices import FleetPrices

TWO = (
    "no GPU that costs less holds all services, in whatever residents they are split, by a cover of all surroundings "
    "that these may have (solver/exact/dealt_costs/one_gpu.py)"
)

MOST_SERVICES = 40
"""Services up to which it is looked for."""


def with_bound_of_two(
    resolved: ResolvedProblem, prices: FleetPrices, cost: float | None, *, deadline: float
) -> FleetPrices:
    """
    Returns the prices with a greater bound, if there is one; inf: no plan can keep the counts.

    Parameters
    ----------
    cost
        USD per hour of a known plan; None: none is known.
    deadline
        As time.monotonic() has it.
    """
    two = 2 * min(entry.price_per_hour for entry in resolved.fleet)
    if resolved.capacity_rps.any() or not can_deal(resolved) or len(resolved.required_rps) > MOST_SERVICES:
        return prices
    if prices.bound >= two * (1 - NO_GAP) or is_within(resolved.gap, cost, prices.bound):
        return prices
    bound = two
    for price, gpu in sorted((resolved.fleet_by_name[gpu].price_per_hour, gpu) for gpu in resolved.mps):
        if price >= two:
            break
        if price >= prices.bound * (1 - NO_GAP) and not _is_ruled_out(resolved, gpu, deadline):
            bound = price
            break
    if bound > most_to_pay(resolved) * (1 + 1e-6):
        bound = np.inf
    return replace(prices, bound=bound, method=TWO) if bound > prices.bound * (1 + NO_GAP) else prices


def _is_ruled_out(resolved: ResolvedProblem, gpu: str, deadline: float) -> bool:
    """Tells whether it is proven that no GPU of a type holds all services."""
    mps, classes = resolved.mps[gpu], classes_of(resolved)
    here, asking = asking_of(resolved, mps, classes)
    return len(here) < len(classes) or holds_not_all(mps, asking, deadline)
