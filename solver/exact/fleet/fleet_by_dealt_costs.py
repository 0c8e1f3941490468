"""
The bound of a fleet whose services may be split over GPUs under MPS, by what GPUs deal to their residents.

The bound at the slice prices (fleet_by_prices.py) holds with whatever residents take at least, so with what is dealt to
them too (dealt_costs/). It is made greater in turns: as long as there is time, until it proves the plan at hand or
meets its gap, or until turns bring next to nothing.
"""

import time
from dataclasses import replace

import numpy as np

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..cost_lattice import cost_lattice
from ..dealt_costs.dealing import MOST_CLASSES, Dealing, can_deal, promised
from ..dual.lagrangian_data import most_to_pay
from ..dual.lagrangian_dual import best_prices
from ..mps.items import classes_of
from ..primal.cheapest_ways import costs_by_way
from ..proof import is_within
from .fleet_by_prices import FleetPrices

DEALT = (
    "Lagrangian bound at the slice prices (solver/exact/dual/lagrangian_dual.py), with GPUs under MPS dealt to their "
    "residents (solver/exact/dealt_costs/deal.py): by shares of SMs, number of residents and what they ask of what all "
    "share, so that none deals more than it costs, whatever its surroundings"
)

RISE = 0.0005
"""Part of the bound by which a turn that brings less counts as one that brings nothing."""

BESIDE = 1.1
"""Times what a service costs by partitions alone than which it need not be dealt more: it may have both."""

EACH_S = 0.008
"""Seconds that a class of alike services takes at least, by a rule of requests that wait."""

IDLE = 3
"""Turns that bring nothing after which there are no more."""


def with_dealt_bound(
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
    if is_within(resolved.gap, cost, prices.bound) or not can_deal(resolved):
        return prices
    classes = len(classes_of(resolved))
    if classes > MOST_CLASSES or (promised(resolved) and classes * EACH_S > deadline - time.monotonic()):
        return prices
    dealing = Dealing(resolved, _enough(resolved, prices))
    lattice, most = cost_lattice(resolved), most_to_pay(resolved)
    greatest, idle = 0.0, 0
    while idle < IDLE and time.monotonic() < deadline:
        dealing.improve(deadline)
        rates = dealing.rates()
        demands = replace(prices.data.demands, shared=rates)
        start = prices.priced.price
        found = best_prices(demands, prices.data.supply, start=start, enough=most, deadline=deadline)
        idle = 0 if found.bound > greatest * (1 + RISE) else idle + 1
        greatest = max(greatest, found.bound)
        bound = np.inf if greatest > most * (1 + 1e-6) else lattice.next_cost(greatest)
        if bound > prices.bound:
            prices = replace(prices, bound=bound, method=DEALT, hosted=rates)
        if is_within(resolved.gap, cost, prices.bound) or dealing.is_done:
            break
    return prices


def _enough(resolved: ResolvedProblem, prices: FleetPrices) -> Floats:
    """Returns what services cost at most by partitions, in GPUs of each type under MPS; shape (workload, type)."""
    price = prices.priced.price[len(prices.data.sizes) :]
    _, by_partitions = costs_by_way(prices.data.demands, prices.priced.price, np.ones(len(resolved.mps)))
    return np.asarray(BESIDE * by_partitions[:, None] / np.maximum(price, 1e-9 * price.max(initial=1.0)))
