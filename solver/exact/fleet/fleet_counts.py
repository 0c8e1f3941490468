"""
A greater bound of fleets with GPUs under MPS, as GPUs of every type are whole: cuts on how many there are of each.

At any prices of partitions and of GPUs under MPS, services cost S, each its cheapest cover, and a GPU of type g holds
partitions worth w_g at most, or is one under MPS. So a plan with N_g GPUs of each type has sum_g N_g w_g >= S. The
bound at the slice prices is such a cut, with N of any fraction. Rounded up to what whole GPUs cost it gains nothing
where there are two prices, whose sums are near any amount; but few of these counts keep the cuts of some prices more.
As in whole_gpus/fleet_counts.py, of fleets without MPS: the cheapest whole counts that keep the cuts known; at the
prices at which these GPUs are worth least beside the services a cut that excludes them, or they stay, and what they
cost is the bound.

What residents take at least (`HostedRates`) is concave in the prices and no more than it costs at any, so S holds at
every prices. Cuts are rounded to whole numbers, worth up and what is asked for down by more than sums of floating-point
numbers can be off.
"""

import time
from dataclasses import replace

import numpy as np

from ...performance.resolve import ResolvedProblem
from ..cost_lattice import cost_lattice
from ..dual.lagrangian_dual import PricedDemand, best_prices
from ..dual.supply import Supply
from ..proof import is_within
from ..whole_gpus.fleet_counts import CountCut, TooManyCountsError, cheapest_counts
from .fleet_by_prices import FleetPrices

COUNTS = (
    "count cuts (solver/exact/fleet/fleet_counts.py): at prices of partitions and of GPUs under MPS every plan's GPUs "
    "are worth what its services cost at least, and no whole counts that cost less keep all of these"
)

PARTS = 10**9
"""Whole numbers to which what a GPU of the most valuable type is worth is rounded."""

SAFE = 1e-7
"""Part by which cuts are made weaker, against rounding in sums."""

MOST_CUTS = 60
"""Cuts after which there are no more."""


def with_count_cuts(
    resolved: ResolvedProblem, prices: FleetPrices, cost: float | None, *, deadline: float
) -> FleetPrices:
    """
    Returns the prices with a greater bound, if there is one.

    Parameters
    ----------
    cost
        USD per hour of a known plan; None: none is known.
    deadline
        As time.monotonic() has it.
    """
    supply = prices.data.supply
    lattice = cost_lattice(resolved)
    if cost is None or not lattice.whole or len(supply.available) < 2 or is_within(resolved.gap, cost, prices.bound):
        return prices
    steps = np.array([round(lattice.coefficient[entry.gpu.name]) for entry in resolved.fleet], dtype=np.int64)
    below = round(cost / lattice.step)
    cuts = [_cut(prices.priced, supply)]
    bound, priced = prices.bound, prices.priced
    while len(cuts) < MOST_CUTS and time.monotonic() < deadline:
        try:
            counts = cheapest_counts(cuts, steps, supply.available, below=below)
        except TooManyCountsError:
            break
        bound = max(bound, lattice.step * (below if counts is None else int(counts @ steps)))
        if counts is None or is_within(resolved.gap, cost, bound):
            break
        just = replace(supply, available=counts.astype(np.float64))
        enough = float(counts @ [entry.price_per_hour for entry in resolved.fleet])
        priced = best_prices(prices.most_demanding, just, start=priced.price, enough=enough, deadline=deadline)
        cut = _cut(priced, just)
        if cut.worth @ counts >= cut.needed:
            break
        cuts.append(cut)
    return replace(prices, bound=bound, method=COUNTS) if bound > prices.bound else prices


def _cut(priced: PricedDemand, supply: Supply) -> CountCut:
    """Returns the cut of some prices."""
    limited = np.isfinite(supply.available)
    needed = priced.bound + float(supply.available[limited] @ priced.rent[limited])
    worth = np.zeros(len(supply.available))
    np.maximum.at(worth, supply.gpu_type, supply.instances @ priced.price)
    scale = PARTS / float(worth.max())
    return CountCut(np.ceil(worth * scale * (1 + SAFE)).astype(np.int64), int(needed * scale * (1 - SAFE)))
