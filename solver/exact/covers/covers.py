"""
Cheapest covers: which partitions a workload takes when each partition size has a price.

    min  sum_k price_k n_k    s.t.  sum_k t_k n_k >= 1,   least <= sum_k n_k <= most,   n integer >= 0

t_k: part of the workload's rate that a partition of size k carries, at most 1. This integer covering knapsack is solved
exactly, for all workloads at once, by enumeration within a bound:

- b is the size with the least price per part carried; v = price_b / t_b. A fluid of b is a lower bound: what remains
  to be carried costs at least v times it.
- A good cover comes first: as many b as fit, and the cheapest size for the rest.
- Numbers of the other sizes are enumerated, worst price per part first, as long as cost + v * rest stays within the
  cost of that good cover (times 1 + slack). The number of b follows. Any cover within slack of the cheapest is
  found, but for those that hold a partition which they do not need.

A workload with fewer partitions than `least` is filled up with the cheapest size, which is what the unneeded ones of
any cover can be exchanged for.

GPUs shared by MPS join as what residents take at least for the part of the rate that partitions leave
(shared_rates.py), if `most` leaves room for one. As a fluid they are another lower bound of what remains. Every number
of b is looked at then, as long as it stays within the cost of the good cover. Residents are not counted, so `least`
does not bind a workload that has some: its cost is that of a relaxation.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .shared_rates import SharedRates

TOLERANCE = 1e-9
"""How much of a rate may be missing, and how far a cost may pass its limit, by rounding alone."""

CHUNK = 1 << 12
"""Workloads enumerated at once, by one thread: so few that their arrays stay in a core's cache."""

MOST_STATES = 1 << 22
"""Partial covers held at once; a chunk with more is halved."""

NO_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Demands:
    """What has to be covered. Shapes (workload, size) and (workload,)."""

    part: Floats
    """t: part of the rate that one partition carries, at most 1; 0: the size does not serve the workload."""
    least: Ints
    most: Ints
    shared: SharedRates | None = None
    """What the rates take of GPUs under MPS; None: there are no such types."""
    kind: Ints | None = None
    """Workloads of one kind differ in their rates alone, shape (workload,); None: not known."""

    def of(self, rows: Ints) -> "Demands":
        """Returns the demands of some workloads."""
        shared = None if self.shared is None else self.shared.of(rows)
        kind = None if self.kind is None else self.kind[rows]
        return Demands(self.part[rows], self.least[rows], self.most[rows], shared, kind)


@dataclass(frozen=True, eq=False)
class Covers:
    """
    Covers of workloads, sorted by workload.

    workload, counts
        Shapes (cover,) and (cover, size): whose cover it is, and the partitions of each size.
    floor
        Shape (workload,): lower bound on what any cover costs at the prices of the enumeration.
    shared
        Shape (cover, type): GPUs of each type under MPS; None: there are no such types.
    unlisted
        Workloads that have more covers than can be listed: one of them is, and the floor is that of a fluid.
    """

    workload: Ints
    counts: Ints
    floor: Floats
    shared: Floats | None = None
    unlisted: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def taken(self) -> Ints | Floats:
        """Shape (cover, size): partitions of each size, then GPUs of each type under MPS."""
        return self.counts if self.shared is None else np.hstack([self.counts, self.shared])

    def first(self) -> Ints:
        """Returns the position of each workload's first cover; every workload has one."""
        return np.searchsorted(self.workload, np.arange(len(self.floor)))


def runs(of: Ints) -> tuple[Ints, Ints]:
    """Returns where each run of equal numbers starts, and for each number the index of its run."""
    start = np.flatnonzero(np.append(True, of[1:] != of[:-1])) if len(of) else np.zeros(0, dtype=np.int64)
    return start, np.repeat(np.arange(len(start)), np.diff(np.append(start, len(of))))


def ranges(first: Ints, number: Ints) -> Ints:
    """Returns for each of the first numbers it and those that follow, as many as asked for, one after the other."""
    every: Ints = np.arange(int(number.sum())) + np.repeat(first - (np.cumsum(number) - number), number)
    return every


def position_of(wanted: Ints, counts: Ints, first: Ints, number: Ints) -> Ints:
    """
    Returns where each wanted cover stands among its own run of covers, shape (wanted,); -1: nowhere.

    Parameters
    ----------
    wanted, counts
        Shapes (wanted, size) and (cover, size).
    first, number
        Shape (wanted,): the run of `counts` to look in.
    """
    position, row = ranges(first, number), np.repeat(np.arange(len(number)), number)
    same = (counts[position] == wanted[row]).all(axis=1)
    found = np.full(len(number), -1)
    found[row[same]] = position[same]
    return found


def cheapest_covers(demands: Demands, price: Floats, slack: float | Floats = 0.0) -> Covers:
    """
    Returns for each workload every cover that costs at most (1 + slack) times its cheapest.

    Parameters
    ----------
    demands
        Every workload must have a cover.
    price
        Shape (size,), above 0; then for each type under MPS the price of a GPU.
    slack
        The same for all, or of shape (workload,).
    """
    workloads = len(demands.least)
    slack = np.broadcast_to(np.asarray(slack, dtype=np.float64), workloads)
    chunks = [np.arange(at, min(at + CHUNK, workloads)) for at in range(0, max(workloads, 1), CHUNK)]
    if len(chunks) == 1:
        return _enumerated(demands, price, slack, chunks[0])
    # Threads, because the work is in NumPy, which lets other threads run meanwhile.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return _joined(list(threads.map(partial(_enumerated, demands, price, slack), chunks)))


def number_of_covers(demands: Demands, price: Floats, slack: Floats, *, most_states: int) -> int | None:
    """Returns how many covers `cheapest_covers` would list; None: more partial ones lead to them than `most_states`."""
    found = _within(replace(demands, shared=None), price, slack, most_states)
    if found is None:
        return None
    workload, cost = found.workload, found.cost
    floor = np.minimum.reduceat(cost, np.searchsorted(workload, np.arange(len(demands.least))))
    return int(np.count_nonzero(cost <= floor[workload] * (1 + slack[workload]) * (1 + TOLERANCE)))


def _enumerated(demands: Demands, price: Floats, slack: Floats, rows: Ints) -> Covers:
    """Enumerates the covers of some workloads; in halves where there are too many partial ones."""
    own = demands.of(rows)
    if not len(rows):
        nothing = np.zeros((0, demands.part.shape[1]), dtype=np.int64)
        return Covers(rows, nothing, np.zeros(0), None if own.shared is None else np.zeros_like(own.shared.gpus))
    found = _within(own, price, slack[rows], MOST_STATES)
    if found is not None:
        first = np.searchsorted(found.workload, np.arange(len(rows)))
        floor = np.minimum.reduceat(found.cost, first)
        kept = np.flatnonzero(found.cost <= floor[found.workload] * (1 + slack[rows][found.workload]) * (1 + TOLERANCE))
        shared = None if found.shared is None else found.shared[kept]
        return Covers(rows[found.workload[kept]], found.counts[kept], floor, shared)
    if len(rows) == 1:
        # Too many to list: its good cover, and the fluid bound.
        good = _good_covers(own, price)
        return Covers(rows, good.counts, _fluid(own, price), good.shared, unlisted=rows)
    half = len(rows) // 2
    return _joined([_enumerated(demands, price, slack, part) for part in (rows[:half], rows[half:])])


def _joined(parts: Sequence[Covers]) -> Covers:
    shared = [part.shared for part in parts if part.shared is not None]
    return Covers(
        np.concatenate([part.workload for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.floor for part in parts]),
        np.concatenate(shared) if shared else None,
        np.concatenate([part.unlisted for part in parts]),
    )


def _fluid(demands: Demands, price: Floats) -> Floats:
    """Returns the least price of carrying all of each rate, were partitions a fluid too; shape (workload,)."""
    of_size, of_shared = np.split(price, [demands.part.shape[1]])
    with np.errstate(divide="ignore"):
        value: Floats = np.min(of_size / demands.part, axis=1, initial=np.inf)
    return value if demands.shared is None else np.minimum(value, np.min(demands.shared.gpus * of_shared, axis=1))


@dataclass(frozen=True, eq=False)
class _Found:
    """Covers and what they cost; a row each."""

    workload: Ints
    counts: Ints
    cost: Floats
    shared: Floats | None


def _within(demands: Demands, price: Floats, slack: Floats, most_states: int) -> _Found | None:
    """Returns every cover within a good one's cost times 1 + slack; None: too many."""
    sizes = demands.part.shape[1]
    of_size = price[:sizes]
    sorted_sizes = _SortedSizes.of(demands, price, slack)
    begun = _Begun.of(demands)
    for at in range(sizes - 1, 0 if demands.shared is None else -1, -1):
        longer = sorted_sizes.with_size(at, begun, most_states)
        if longer is None:
            return None
        begun = longer
    if demands.shared is None:
        begun = sorted_sizes.with_best_size(begun)
    counts = np.zeros_like(begun.counts)
    np.put_along_axis(counts, sorted_sizes.order[begun.workload], begun.counts, axis=1)
    missing = demands.least[begun.workload] - (demands.most[begun.workload] - begun.room)
    cost, shared = begun.cost, None
    if demands.shared is not None:
        left = begun.rest > TOLERANCE
        missing = np.where(left, 0, missing)
        added, shared = _by_residents(demands.shared.of(begun.workload), begun, price[sizes:])
        cost = cost + added
    cost = _fill(counts, missing, demands.part[begun.workload], of_size, cost)
    kept = (begun.room >= 0) & (cost <= sorted_sizes.limit[begun.workload])
    return _Found(begun.workload[kept], counts[kept], cost[kept], None if shared is None else shared[kept])


def _by_residents(rates: SharedRates, begun: "_Begun", price: Floats) -> tuple[Floats, Floats]:
    """Returns what residents cost for the rest of covers, inf where there is no room for one, and what they take."""
    cost, taken = np.zeros(len(begun.rest)), np.zeros_like(rates.gpus)
    left = np.flatnonzero(begun.rest > TOLERANCE)
    cost[left], taken[left] = rates.of(left).taken(begun.rest[left], price)
    cost[left[begun.room[left] < 1]] = np.inf
    return cost, taken


@dataclass(frozen=True, eq=False)
class _Begun:
    """Covers that are begun: how many partitions they have of the dearer sizes; a row each."""

    workload: Ints
    rest: Floats
    """Part of the rate that is not carried yet, below 0: what is carried too much."""
    cost: Floats
    room: Ints
    """Partitions that may still be taken."""
    counts: Ints
    """Shape (row, size), the sizes in the order of their workload; 0 where they are not chosen yet."""

    @classmethod
    def of(cls, demands: Demands) -> "_Begun":
        """Returns a cover for each workload that has nothing yet."""
        workloads, sizes = demands.part.shape
        nothing = np.zeros((workloads, sizes), dtype=np.int64)
        return cls(np.arange(workloads), np.ones(workloads), np.zeros(workloads), demands.most.copy(), nothing)


@dataclass(frozen=True, eq=False)
class _SortedSizes:
    """The sizes of each workload by what they cost per rate, and what a cover may cost."""

    order: Ints
    """Shape (workload, size): sizes, the cheapest per rate first."""
    part: Floats
    price: Floats
    """Shape (workload, size), in that order: part of the rate that one carries, and its price."""
    value: Floats
    """Shape (workload,): least price of carrying all of the rate, in any amounts."""
    limit: Floats
    """Shape (workload,): greatest cost of a cover."""

    @classmethod
    def of(cls, demands: Demands, price: Floats, slack: Floats) -> "_SortedSizes":
        """Returns the sizes at these prices."""
        of_size = price[: demands.part.shape[1]]
        with np.errstate(divide="ignore"):
            order = np.argsort(of_size / demands.part, axis=1, kind="stable")
        return cls(
            order,
            np.take_along_axis(demands.part, order, axis=1),
            of_size[order],
            _fluid(demands, price),
            _good_covers(demands, price).cost * (1 + slack) * (1 + TOLERANCE),
        )

    def with_size(self, at: int, begun: _Begun, most_states: int) -> _Begun | None:
        """Returns the covers with every number of one size that may stay within the limit; None: too many."""
        part, price = self.part[begun.workload, at], self.price[begun.workload, at]
        times = self._most(begun, part, price) + 1
        if int(times.sum()) > most_states:
            return None
        if not (times > 1).any():
            return begun
        source = np.repeat(np.arange(len(times)), times)
        number = np.arange(len(source)) - np.repeat(np.cumsum(times) - times, times)
        rest = begun.rest[source] - number * part[source]
        cost = begun.cost[source] + number * price[source]
        bound = cost + self.value[begun.workload[source]] * np.maximum(rest, 0.0)
        kept = (number == 0) | (bound <= self.limit[begun.workload[source]])
        source, number = source[kept], number[kept]
        counts = begun.counts[source]
        counts[:, at] = number
        return _Begun(begun.workload[source], rest[kept], cost[kept], begun.room[source] - number, counts)

    def _most(self, begun: _Begun, part: Floats, price: Floats) -> Ints:
        """Returns how many of a size a cover may have: as many as carry the rest, are within the limit, have room."""
        open_rest = np.maximum(begun.rest, 0.0)
        value = self.value[begun.workload]
        spare = self.limit[begun.workload] - begun.cost - value * open_rest
        worse = price - part * value
        usable = (part > 0) & (open_rest > TOLERANCE)
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(usable, np.ceil(open_rest / part - TOLERANCE), 0)
            most = np.minimum(most, np.floor(np.maximum(spare, 0.0) / np.maximum(worse, TOLERANCE * price)) + 1)
        within: Ints = np.minimum(most, begun.room).astype(np.int64)
        return within

    def with_best_size(self, begun: _Begun) -> _Begun:
        """Returns the covers with as many of the size that costs least per rate as carry the rest."""
        part, price = self.part[begun.workload, 0], self.price[begun.workload, 0]
        number = np.ceil(np.maximum(begun.rest - TOLERANCE, 0.0) / part - TOLERANCE)
        number = np.maximum(number, 0).astype(np.int64)
        counts = begun.counts.copy()
        counts[:, 0] = number
        rest, cost = begun.rest - number * part, begun.cost + number * price
        return _Begun(begun.workload, rest, cost, begun.room - number, counts)


def _fill(counts: Ints, missing: Ints, part: Floats, price: Floats, cost: Floats) -> Floats:
    """Adds the cheapest partitions up to the least number of replicas; changes counts, returns the costs."""
    short = np.flatnonzero(missing > 0)
    if not short.size:
        return cost
    cheapest = np.argmin(np.where(part[short] > 0, price, np.inf), axis=1)
    counts[short, cheapest] += missing[short].astype(counts.dtype)
    filled = cost.copy()
    filled[short] += missing[short] * price[cheapest]
    return filled


def _good_covers(demands: Demands, price: Floats) -> _Found:
    """
    Returns a good cover of each workload: b, or fewer b and one other size, or another alone.

    Or no partition at all, where GPUs under MPS are cheaper.
    """
    best, best_cost = _good_partitions(demands, price[: demands.part.shape[1]])
    rows = np.arange(len(best))
    if demands.shared is None:
        return _Found(rows, best, best_cost, None)
    cost, taken = demands.shared.taken(np.ones(len(best)), price[demands.part.shape[1] :])
    elsewhere = cost < best_cost
    best[elsewhere], taken[~elsewhere] = 0, 0.0
    return _Found(rows, best, np.minimum(best_cost, cost), taken)


def _good_partitions(demands: Demands, price: Floats) -> tuple[Ints, Floats]:
    """Returns counts and cost of such a cover by partitions alone; the cost inf: there is none."""
    part = demands.part
    workloads, sizes = part.shape
    rows = np.arange(workloads)
    if not sizes:
        return np.zeros((workloads, 0), dtype=np.int64), np.full(workloads, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = np.argmin(price / part, axis=1)
        full = np.floor(1 / part[rows, b] + TOLERANCE)
        tried = [full, np.maximum(full - 1, 0), np.zeros(workloads)]
        best_cost, best = np.full(workloads, np.inf), np.zeros((workloads, sizes), dtype=np.int64)
        for of_b in tried:
            rest = np.maximum(1 - of_b * part[rows, b] - TOLERANCE, 0.0)
            other = np.where(part > 0, np.ceil(rest[:, None] / part - TOLERANCE), np.inf)
            other = np.maximum(other, 0.0)
            total = of_b[:, None] + other
            missing = np.maximum(demands.least[:, None] - total, 0.0)
            cheapest = np.min(np.where(part > 0, price, np.inf), axis=1)
            cost = (of_b * price[b])[:, None] + other * price + missing * cheapest[:, None]
            cost = np.where((total <= demands.most[:, None]) & np.isfinite(other), cost, np.inf)
            k = np.argmin(cost, axis=1)
            better = np.flatnonzero(cost[rows, k] < best_cost)
            best_cost[better] = cost[better, k[better]]
            best[better] = 0
            best[better, b[better]] += of_b[better].astype(np.int64)
            best[better, k[better]] += other[better, k[better]].astype(np.int64)
    _fill(best, demands.least - best.sum(axis=1), part, price, best_cost)
    return best, best_cost
