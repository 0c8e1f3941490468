"""
Every cover of some workloads within a slack of the cheapest: an integer covering knapsack each, all of them at once.

    min  sum_k price_k n_k    s.t.  sum_k t_k n_k >= 1,   least <= sum_k n_k <= most,   n integer >= 0

t_k: part of the workload's rate that a partition of size k carries, at most 1.

- b is the size with the least price per part carried; v = price_b / t_b. A fluid of b is a lower bound: what remains
  to be carried costs at least v times it.
- A good cover comes first (good_covers.py); then the cheapest with FEW_OTHERS partitions of the other sizes at most,
  which costs little to find and is nearly always the cheapest of all. What either costs is a limit.
- Numbers of the other sizes are enumerated, worst price per part first, as long as cost + v * rest stays within the
  limit times 1 + slack, and behind the last of them cost + price_b * ceil(rest / t_b), which is what the cover costs.
  Any cover within the slack is found, but for those that hold a partition which they do not need.

A workload with fewer partitions than `least` is filled up with the cheapest size, which is what the unneeded ones of
any cover can be exchanged for.

GPUs shared by MPS join as what residents take at least for the part of the rate that partitions leave
(shared_rates.py), if `most` leaves room for one. As a fluid they are another lower bound of what remains. Every number
of b is looked at then, as long as it stays within the limit. Residents are not counted, so `least` does not bind a
workload that has some: its cost is that of a relaxation.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .demands import NO_LIMIT, Demands
from .good_covers import TOLERANCE, cheapest_sizes, fluid, good_covers, whole_number
from .hosted_rates import HostedRates

FEW_OTHERS = 2
"""Partitions of sizes other than b: covers of no more are found first."""


@dataclass(frozen=True, eq=False)
class FoundCovers:
    """Covers by workload, a row each, and what the cheapest of each workload costs, shape (workload,)."""

    workload: Ints
    counts: Ints
    floor: Floats
    shared: Floats | None
    """Shape (row, type): GPUs under MPS."""


def covers_within(demands: Demands, price: Floats, slack: Floats, most_states: int) -> FoundCovers | None:
    """
    Returns every cover that costs at most (1 + slack) times the cheapest; None: more partial ones lead to them.

    Parameters
    ----------
    slack
        Shape (workload,).
    most_states
        Partial covers that may be held at once.
    """
    search = _Search.of(demands, price)
    limit = good_covers(demands, price).cost
    if demands.shared is None:
        few = search.complete(limit * (1 + TOLERANCE), FEW_OTHERS, most_states)
        if few is not None:
            np.minimum.at(limit, few.workload, few.cost)
    found = search.complete(limit * (1 + slack) * (1 + TOLERANCE), NO_LIMIT, most_states)
    if found is None:
        return None
    floor = np.minimum.reduceat(found.cost, np.searchsorted(found.workload, np.arange(len(limit))))
    found = found.of(np.flatnonzero(found.cost <= (floor * (1 + slack) * (1 + TOLERANCE))[found.workload]))
    return FoundCovers(found.workload, search.counts(found), floor, found.shared)


@dataclass(frozen=True, eq=False)
class _Begun:
    """Covers that are begun: some number of each of the dearer sizes; a row each, in the order of workloads."""

    workload: Ints
    rest: Floats
    """Part of the rate that is not carried yet, below 0: what is carried too much."""
    cost: Floats
    taken: Ints
    """Partitions so far."""
    steps: tuple[tuple[int, Ints, Ints], ...] = ()
    """Which size was chosen, of which row before, in which number: the rows of each choice, the first one first."""


@dataclass(frozen=True, eq=False)
class _Complete:
    """Covers that carry their rates. Shapes (row,) and (row, type)."""

    begun: _Begun
    row: Ints
    """Which of those they were."""
    cost: Floats
    missing: Ints
    """Partitions of the cheapest size that they have for the number of replicas only."""
    shared: Floats | None

    @cached_property
    def workload(self) -> Ints:
        """Whose they are."""
        return self.begun.workload[self.row]

    def of(self, kept: Ints) -> "_Complete":
        """Returns some of them."""
        shared = None if self.shared is None else self.shared[kept]
        return _Complete(self.begun, self.row[kept], self.cost[kept], self.missing[kept], shared)


@dataclass(frozen=True, eq=False)
class _Search:
    """The sizes of each workload by what they cost per rate. Shapes (size, workload), the cheapest first."""

    demands: Demands
    order: Ints
    part: Floats
    price: Floats
    value: Floats
    """Shape (workload,): least price of carrying all of the rate, in any amounts."""
    cheapest: Ints
    """Shape (workload,): the size of the least price that serves it."""
    of_size: Floats
    of_shared: Floats
    """Prices as they were given, of sizes and of GPUs under MPS."""

    @classmethod
    def of(cls, demands: Demands, price: Floats) -> "_Search":
        """Returns the sizes at these prices."""
        of_size, of_shared = np.split(price, [demands.part.shape[1]])
        with np.errstate(divide="ignore"):
            order = np.argsort(of_size / demands.part, axis=1, kind="stable")
        part = np.take_along_axis(demands.part, order, axis=1)
        return cls(
            demands,
            np.ascontiguousarray(order.T),
            np.ascontiguousarray(part.T),
            of_size[order.T],
            fluid(demands, price),
            cheapest_sizes(demands.part, of_size),
            of_size,
            of_shared,
        )

    def complete(self, limit: Floats, most_others: int, most_states: int) -> _Complete | None:
        """
        Returns the covers that cost no more than a limit, shape (workload,); None: too many lead to them.

        `most_others`: partitions of sizes other than b that they have at most.
        """
        workloads = len(limit)
        begun = _Begun(
            np.arange(workloads), np.ones(workloads), np.zeros(workloads), np.zeros(workloads, dtype=np.int64)
        )
        most = np.minimum(self.demands.most, most_others)
        for at in range(len(self.order) - 1, 0 if self.demands.shared is None else -1, -1):
            longer = self._with_size(at, begun, limit, most, most_states)
            if longer is None:
                return None
            begun = longer
        if self.demands.shared is None:
            begun = self._with_best_size(begun)
        workload = begun.workload
        missing = np.maximum(self.demands.least[workload] - begun.taken, 0)
        cost, shared = begun.cost, None
        if self.demands.shared is not None:
            missing[begun.rest > TOLERANCE] = 0
            added, shared = self._residents(self.demands.shared.of(workload), begun)
            cost = cost + added
        if missing.any():
            cost = cost + missing * self.of_size[self.cheapest[workload]]
        kept = np.flatnonzero((begun.taken <= self.demands.most[workload]) & (cost <= limit[workload]))
        return _Complete(begun, np.arange(len(cost)), cost, missing, shared).of(kept)

    def counts(self, found: _Complete) -> Ints:
        """Returns the partitions of each size of covers, shape (row, size)."""
        counts = np.zeros((len(found.row), len(self.order)), dtype=np.int64)
        own, row = np.arange(len(found.row)), found.row
        for at, before, number in reversed(found.begun.steps):
            counts[own, self.order[at, found.workload]] = number[row]
            row = before[row]
        short = np.flatnonzero(found.missing)
        counts[short, self.cheapest[found.workload[short]]] += found.missing[short]
        return counts

    def _with_size(self, at: int, begun: _Begun, limit: Floats, most: Ints, most_states: int) -> _Begun | None:
        """Returns the covers with every number of one size that may stay within the limit; None: too many."""
        part, price = self.part[at][begun.workload], self.price[at][begun.workload]
        times = self._most(begun, part, price, limit, most) + 1
        states = int(times.sum())
        if states > most_states:
            return None
        if states == len(times):
            return begun
        source = np.repeat(np.arange(len(times)), times)
        number = np.arange(states) - (np.cumsum(times) - times)[source]
        workload = begun.workload[source]
        rest = begun.rest[source] - number * part[source]
        cost = begun.cost[source] + number * price[source]
        if at == 1 and self.demands.shared is None:
            bound = cost + whole_number(rest, self.part[0][workload]) * self.price[0][workload]
        else:
            bound = cost + self.value[workload] * np.maximum(rest, 0.0)
        kept = np.flatnonzero(bound <= limit[workload])
        source, number = source[kept], number[kept]
        taken = begun.taken[source] + number
        return _Begun(workload[kept], rest[kept], cost[kept], taken, (*begun.steps, (at, source, number)))

    def _most(self, begun: _Begun, part: Floats, price: Floats, limit: Floats, most: Ints) -> Ints:
        """Returns how many of a size a cover may have: as many as carry the rest, are within the limit, have room."""
        open_rest = np.maximum(begun.rest, 0.0)
        value = self.value[begun.workload]
        spare = limit[begun.workload] - begun.cost - value * open_rest
        worse = price - part * value
        usable = (part > 0) & (open_rest > TOLERANCE)
        with np.errstate(divide="ignore", invalid="ignore"):
            number = np.where(usable, np.ceil(open_rest / part - TOLERANCE), 0)
            number = np.minimum(number, np.floor(np.maximum(spare, 0.0) / np.maximum(worse, TOLERANCE * price)) + 1)
        within: Ints = np.minimum(number, most[begun.workload] - begun.taken).astype(np.int64)
        return within

    def _with_best_size(self, begun: _Begun) -> _Begun:
        """Returns the covers with as many of the size that costs least per rate as carry the rest."""
        number = whole_number(begun.rest, self.part[0][begun.workload]).astype(np.int64)
        cost = begun.cost + number * self.price[0][begun.workload]
        step = (0, np.arange(len(number)), number)
        return _Begun(begun.workload, begun.rest, cost, begun.taken + number, (*begun.steps, step))

    def _residents(self, rates: HostedRates, begun: _Begun) -> tuple[Floats, Floats]:
        """Returns what residents cost for the rest of covers, inf where there is no room for one, and their GPUs."""
        cost, gpus = np.zeros(len(begun.rest)), np.zeros_like(rates.gpus)
        left = np.flatnonzero(begun.rest > TOLERANCE)
        cost[left], gpus[left] = rates.of(left).taken(begun.rest[left], self.of_shared)
        cost[left[begun.taken[left] >= self.demands.most[begun.workload[left]]]] = np.inf
        return cost, gpus
