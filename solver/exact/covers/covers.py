"""
Cheapest covers: which partitions a workload takes when each partition size has a price.

cover_search.py finds them; here workloads are many, and some have too many covers to list.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .cover_search import covers_within
from .demands import Demands
from .good_covers import fluid, good_covers

CHUNK = 1 << 12
"""Workloads enumerated at once, by one thread: so few that their arrays stay in a core's cache."""

MOST_STATES = 1 << 22
"""Partial covers held at once; a chunk with more is halved."""


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
    found = covers_within(replace(demands, shared=None), price, slack, most_states)
    return None if found is None else len(found.workload)


def _enumerated(demands: Demands, price: Floats, slack: Floats, rows: Ints) -> Covers:
    """Enumerates the covers of some workloads; in halves where there are too many partial ones."""
    own = demands.of(rows)
    if not len(rows):
        nothing = np.zeros((0, demands.part.shape[1]), dtype=np.int64)
        return Covers(rows, nothing, np.zeros(0), None if own.shared is None else np.zeros_like(own.shared.gpus))
    found = covers_within(own, price, slack[rows], MOST_STATES)
    if found is not None:
        return Covers(rows[found.workload], found.counts, found.floor, found.shared)
    if len(rows) == 1:
        # Too many to list: its good cover, and the fluid bound.
        good = good_covers(own, price)
        return Covers(rows, good.counts, fluid(own, price), good.shared, unlisted=rows)
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
