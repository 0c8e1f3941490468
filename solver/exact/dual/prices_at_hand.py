"""
Slice prices in a moment and without a solver: for a search that ends before it has a bound, or a plan.

L of lagrangian_dual.py is a lower bound on the cost of any plan at any prices, so prices may come from anywhere. Here
one price after the other is moved up and down by ever smaller steps, the others following so that the best cut of a
GPU type stays worth what the GPU costs, and a move stays where L rises. On the way L is that of some of the workloads,
great rates in parts, with covers that are found without a search (good_covers.py), which is a little too high and no
bound; at the end it is that of all workloads with their cheapest covers, or of a fluid where these are too many.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..covers.cover_search import covers_within
from ..covers.demands import Demands, in_parts
from ..covers.good_covers import fluid, good_covers
from .supply import Supply, feasible, least_rent, proportional

SAMPLE = 1_000
"""Workloads by which prices are found."""

STEPS = (0.5, 0.25, 0.125, 0.125, 0.06, 0.06, 0.03, 0.03, 0.015, 0.015, 0.007)
"""Parts by which a price is moved, one after the other."""

MOST_STATES = 1 << 20
"""Partial covers held at once, more of which take too long."""


@dataclass(frozen=True, eq=False)
class PricesAtHand:
    """Prices, shape (size,), and the lower bound on the cost of any plan that they prove, both USD per hour."""

    price: Floats
    bound: float


def prices_at_hand(demands: Demands, supply: Supply, *, deadline: float) -> PricesAtHand:
    """
    Returns good prices and their bound.

    Parameters
    ----------
    demands
        Every workload must have a cover.
    deadline
        As time.monotonic() has it: when prices stay as good as they are. The bound takes its time after that.
    """
    price = _risen(_sampled(demands, supply), deadline)
    return PricesAtHand(price, float(_floors(demands, price).sum()) - _scarcity(supply, price))


def _floors(demands: Demands, price: Floats) -> Floats:
    """Returns a lower bound on what the partitions of each workload cost in any plan, shape (workload,)."""
    found = covers_within(demands, price, np.zeros(len(demands.least)), MOST_STATES)
    return fluid(demands, price) if found is None else found.floor


def _scarcity(supply: Supply, price: Floats) -> float:
    """Returns the rents of all GPUs that there are, N m."""
    limited = np.isfinite(supply.available)
    return float(supply.available[limited] @ least_rent(supply, price)[limited])


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some workloads, how many each stands for, and their part of the GPUs."""

    demands: Demands
    weight: Floats
    supply: Supply

    def value(self, price: Floats) -> float:
        """Returns L, but for covers that a search would find cheaper."""
        return float(self.weight @ good_covers(self.demands, price).cost) - _scarcity(self.supply, price)


def _sampled(demands: Demands, supply: Supply) -> _Sample:
    """Returns workloads of all rates, of those for which covers are found without a search."""
    workloads = len(demands.least)
    part = demands.of(np.unique(np.linspace(0, workloads - 1, SAMPLE).astype(np.int64)))
    some = len(part.least)
    weight = np.ones(some)
    if part.shared is None:
        part, weight = in_parts(part)
    found = np.flatnonzero(np.isfinite(good_covers(part, proportional(supply)).cost))
    fewer = replace(supply, available=supply.available * (some / workloads))
    return _Sample(part.of(found), weight[found], fewer)


def _risen(sample: _Sample, deadline: float) -> Floats:
    """Returns prices from which no move of any step makes more of the sample's L, if there is time to find them."""
    price = _tight(sample.supply, proportional(sample.supply))
    best = sample.value(price)
    for step in STEPS:
        for sizes in _moved_together(sample.supply):
            for factor in (1 + step, 1 / (1 + step)):
                if time.monotonic() > deadline:
                    return price
                moved = price.copy()
                moved[sizes] *= factor
                moved = _tight(sample.supply, moved)
                value = sample.value(moved)
                if value > best:
                    price, best = moved, value
    return price


def _types_of_sizes(supply: Supply) -> Ints:
    """Returns the GPU type that is cut into each size, shape (size,)."""
    of_type: Ints = supply.gpu_type[np.argmax(supply.instances > 0, axis=0)]
    return of_type


def _moved_together(supply: Supply) -> list[Ints]:
    """Returns the sizes that a move is of: each alone, and where there are counts, whose types have rents, together."""
    of_type = _types_of_sizes(supply)
    limited = np.flatnonzero(np.isfinite(supply.available))
    together = [np.flatnonzero(of_type == g) for g in limited]
    if len(limited) > 1:
        together.append(np.flatnonzero(np.isin(of_type, limited)))
    return [*(np.array([k]) for k in range(len(of_type))), *together]


def _tight(supply: Supply, price: Floats) -> Floats:
    """Returns prices at which some cut of each type is worth its cost at least, as L rises with every price till then.

    Of a type without limit none is worth more.
    """
    worth = np.zeros(len(supply.available))
    np.maximum.at(worth, supply.gpu_type, supply.instances @ price / supply.cost)
    least = np.where(np.isfinite(supply.available), np.minimum(worth, 1.0), worth)
    return feasible(supply, price / least[_types_of_sizes(supply)])
