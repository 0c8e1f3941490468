"""
Which numbers of GPUs of several types could carry the workloads at all: cuts on the counts, and the plan they lead to.

At any prices y >= 0 of partitions, the GPUs of a plan, N_g of each type g, hold partitions worth sum_g N_g w_g(y) at
most, with w_g(y) = max_q a_q y over the cuts q of the type; and its workloads take partitions worth at least
S(y) = sum_w min { y n : n covers w }. So every plan keeps, for every y >= 0, the count cut

    sum_g N_g w_g(y)  >=  S(y)

Slice prices (lagrangian_dual.py) are one y, and their bound is that cut with N_g of any fraction. GPUs are whole, and
two types at prices of 1.00 and 1.83 have a total near any amount; but few of those totals have counts that keep the
cuts of a few y more. So (Benders, with the counts as the first stage):

1. The cheapest whole counts that keep all cuts known; of equals those nearest to a fractional plan's, for their cuts
   exclude most of the others. No plan costs less: the bound.
2. The y at which these counts are worth least beside the workloads, which is what slice prices are where just these
   GPUs are to be had. Worth less than S(y): a new cut, and again from 1.
3. Else a plan of just these GPUs is looked for, at those of the y known at which they are worth least. If there is one,
   it is the cheapest. If none is found the bound stays here, and dearer counts are tried for a plan.

All of a cut is in integers (whole_prices.py), and so is what keeps it. Cuts are found by floating-point numbers, which
may make them weak and never wrong.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..covers.covers import ranges
from ..covers.demands import Demands
from ..covers.listed_covers import ListedCovers
from ..dual.lagrangian_dual import covers_for_prices, prices_of_pool
from ..dual.pooled_covers import PooledCovers
from ..dual.supply import Supply
from ..primal.restricted_master import ChosenCovers
from .whole_prices import ProvenCovers, proven_covers, proven_of, whole_prices

MOST_COUNTS = 2_000_000
"""Combinations of counts that are looked at; with more there are too many types for this."""

MOST_OPEN = 12
"""Counts for which neither a cut nor a plan was found, after which the search ends."""

MOST_LISTINGS = 8
"""For one cut."""

FARTHEST = 3.0
"""How many times higher or lower than slice prices those of a cut may be; a multiple of all makes no other cut."""

NOT_LESS = 1e-9
"""Part of a cost by which floating-point numbers may be off and nothing is concluded."""

AS_GOOD = 1e-7
"""Part of what prices promise by which those known may prove less of some counts and are as good."""


@dataclass(frozen=True, eq=False)
class CountCut:
    """What whole counts of GPUs have to keep: worth N >= needed."""

    worth: Ints
    """Shape (type,): w, in parts of a step."""
    needed: int
    """S, in the same."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What cuts on the counts prove and found."""

    least_steps: int
    """Steps below which there is no plan."""
    plan: ChosenCovers | None
    """A plan that is cheaper than the known one; None: none was found."""


class Fill(Protocol):
    """Looks for a plan of just the GPUs of a fleet, of which the best prices prove so much, at a cost in steps."""

    def __call__(self, fleet: Supply, proven: ProvenCovers, steps: int) -> ChosenCovers | None: ...


def cut_of(proven: ProvenCovers, supply: Supply) -> CountCut:
    """Returns the count cut of some prices."""
    prices = proven.prices
    worth = np.zeros(len(supply.available), dtype=np.int64)
    np.maximum.at(worth, supply.gpu_type, supply.instances @ prices.price)
    return CountCut(worth, proven.needed)


def cheapest_counts(
    cuts: Sequence[CountCut],
    cost: Ints,
    available: Floats,
    *,
    below: int,
    near: Floats | None = None,
    without: Sequence[Ints] = (),
) -> Ints | None:
    """
    Returns the cheapest whole counts that keep all cuts, shape (type,); None: none costs less than `below`.

    Of all types but the last each combination is looked at that leaves a total below `below`; of the last, the fewest
    that the cuts ask for.

    Parameters
    ----------
    cost
        Shape (type,): steps, all above 0.
    available
        Shape (type,): inf where there is no limit.
    near
        Shape (type,): of equally cheap counts those with the least sum of differences from these; None: any.
    without
        Counts that are not wanted.

    Raises
    ------
    TooManyCountsError
        If there are more combinations than are looked at, or sums would leave 64 bits.
    """
    worth = np.array([cut.worth for cut in cuts])
    needed = np.array([cut.needed for cut in cuts], dtype=np.int64)
    most = np.minimum((below - 1) // cost, np.where(np.isfinite(available), available, 2.0**62)).astype(np.int64)
    if float(np.max(worth @ most.astype(np.float64), initial=0.0)) + float(needed.max(initial=0)) >= 2.0**62:
        raise TooManyCountsError
    # The last type is the one with the most counts: it is not tried one by one.
    order = np.argsort(most, kind="stable")
    counts, spent = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for g in order[:-1].tolist():
        number = np.minimum((below - 1 - spent) // cost[g], most[g]) + 1
        if float(number.astype(np.float64).sum()) > MOST_COUNTS:
            raise TooManyCountsError
        of = ranges(np.zeros(len(number), dtype=np.int64), number)
        counts = np.column_stack([np.repeat(counts, number, axis=0), of])
        spent = np.repeat(spent, number) + of * cost[g]
    last = int(order[-1])
    least = np.zeros(len(counts), dtype=np.int64)
    possible = np.ones(len(counts), dtype=np.bool_)
    for row, wanted in zip(worth, needed.tolist(), strict=True):
        missing = wanted - counts @ row[order[:-1]]
        if row[last]:
            least = np.maximum(least, -(-missing // row[last]))
        else:
            possible &= missing <= 0
    for unwanted in sorted((one[order].tolist() for one in without), key=lambda one: one[-1]):
        least[(counts == unwanted[:-1]).all(axis=1) & (least == unwanted[-1])] += 1
    total = spent + np.minimum(least, most[last] + 1) * cost[last]
    possible &= (least <= most[last]) & (total < below)
    if not possible.any():
        return None
    cheapest = np.flatnonzero(possible & (total == total[possible].min()))
    found = np.zeros((len(cheapest), len(cost)), dtype=np.int64)
    found[:, order] = np.column_stack([counts[cheapest], least[cheapest]])
    best = 0 if near is None else int(np.argmin(np.abs(found - near).sum(axis=1)))
    return np.asarray(found[best], dtype=np.int64)


class TooManyCountsError(Exception):
    """Counts cannot be looked at one by one."""


def counted_plan(
    demands: Demands,
    supply: Supply,
    listed: ListedCovers,
    proven: ProvenCovers,
    *,
    below: int,
    near: Floats,
    fill: Fill,
    deadline: float,
) -> Counted:
    """
    Returns the cheapest plan and what proves it, or how far the time allowed to come.

    Parameters
    ----------
    listed
        Covers near the cheapest at the slice prices.
    proven
        What slice prices prove.
    below
        Steps from which on counts are not looked at.
    near
        Shape (type,): of equally cheap counts those nearest to these come first.
    fill
        Looks for a plan of counts that no cut excludes.
    deadline
        As time.monotonic() has it.
    """
    search = _Search(demands, supply, listed, proven)
    near = search.of_cut_types(near)
    least, without = proven.least_steps, list[Ints]()
    while len(without) < MOST_OPEN and time.monotonic() < deadline:
        try:
            counts = cheapest_counts(
                search.cuts, search.cost, search.available, below=below, near=near, without=without
            )
        except TooManyCountsError:
            break
        steps = below if counts is None else int(counts @ search.cost)
        if not without:
            least = max(least, steps)
        if counts is None:
            break
        with_counts = search.with_counts(counts, deadline)
        if with_counts is None:
            continue
        fleet, of_fleet = with_counts
        plan = fill(fleet, of_fleet, steps)
        if plan is not None:
            return Counted(least, plan)
        without.append(counts)
    return Counted(least, None)


class _Search:
    """What is proven so far, and the covers listed for it. Shapes of counts: (type,), those that can be cut only."""

    def __init__(self, demands: Demands, supply: Supply, listed: ListedCovers, proven: ProvenCovers) -> None:
        self._gpu_cost = proven.prices.gpu_cost
        self._types, first = np.unique(supply.gpu_type, return_index=True)
        self.cost = self._gpu_cost[first]
        self.available = supply.available[self._types]
        self._demands = demands
        self._supply = replace(supply, cost=self._gpu_cost.astype(np.float64))
        price = proven.prices.in_steps
        self._price, self._box = price, (price / FARTHEST, price * FARTHEST)
        self._seen: Sequence[Floats] = ()
        self._pool = PooledCovers(len(demands.least))
        self._pool.add(listed)
        self._proven = [proven]
        self.cuts = [self._cut(proven)]

    def _cut(self, proven: ProvenCovers) -> CountCut:
        cut = cut_of(proven, self._supply)
        return CountCut(cut.worth[self._types], cut.needed)

    def of_cut_types(self, counts: Floats) -> Floats:
        """Returns the counts of those types that can be cut."""
        return np.asarray(counts[self._types], dtype=np.float64)

    def with_counts(self, counts: Ints, deadline: float) -> tuple[Supply, ProvenCovers] | None:
        """Returns a fleet of so many GPUs and the most that prices prove of it; None: a new cut excludes it."""
        available = np.zeros(len(self._supply.available))
        available[self._types] = counts
        fleet = replace(self._supply, available=available)
        steps, listings = int(counts @ self.cost), 0
        while True:
            left = [self._left(i, counts) for i in range(len(self.cuts))]
            best = int(np.argmin(left))
            if left[best] < 0:
                return None
            known = proven_of(self._proven[best], fleet)
            if listings == MOST_LISTINGS or time.monotonic() > deadline:
                return fleet, known
            price, hoped, self._seen = prices_of_pool(self._pool, fleet, self._price, self._box, self._seen, deadline)
            if hoped <= steps * (1 + NOT_LESS) and (listings or hoped <= (steps - left[best]) * (1 + AS_GOOD)):
                return fleet, known
            whole = whole_prices(price, fleet, self._gpu_cost, self._proven[0].covers)
            if whole is None:
                return fleet, known
            listed, _ = covers_for_prices(self._demands, whole.in_steps)
            listings += 1
            self._pool.add(listed)
            self._price = price
            self._proven.append(proven_covers(whole, fleet, listed))
            self.cuts.append(self._cut(self._proven[-1]))

    def _left(self, cut: int, counts: Ints) -> float:
        """Returns how many steps more counts are worth than what a cut asks for; below 0: it excludes them."""
        return int(self.cuts[cut].worth @ counts - self.cuts[cut].needed) / self._proven[cut].prices.parts
