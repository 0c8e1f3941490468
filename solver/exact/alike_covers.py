"""
Covers of workloads that have the same, listed once.

Of 100,000 services with rates of their own, 3,000 different sets of covers were near the cheapest. What is asked of
the covers again and again, their cost at other prices, is asked of each set once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..performance.interference.prediction import Floats, Ints
from .covers import Covers, position_of, ranges, runs


@dataclass(frozen=True, eq=False)
class AlikeCovers:
    """Groups of workloads with the same covers."""

    group: Ints
    """Shape (workload,): its group."""
    counts: Ints
    """Shape (cover, size): partitions of each size, group by group."""
    first: Ints
    """Shape (group,): position of its first cover."""
    number: Ints
    """Shape (group,): how many covers it has; at least one."""

    @cached_property
    def members(self) -> Ints:
        """Shape (group,): how many workloads it has."""
        return np.bincount(self.group, minlength=len(self.first))

    @cached_property
    def owner(self) -> Ints:
        """Shape (cover,): the group that has it."""
        return np.repeat(np.arange(len(self.first)), self.number)

    def first_where(self, chosen: NDArray[np.bool_]) -> Ints:
        """Returns the position of the first chosen cover of each group; each has one."""
        at = np.flatnonzero(chosen)
        return np.asarray(at[runs(self.owner[at])[0]], dtype=np.int64)

    def least(self, cost: Floats) -> Floats:
        """Returns for each cover the cost of the cheapest of its group."""
        least: Floats = np.minimum.reduceat(cost, self.first)[self.owner]
        return least

    def nearest(self, cost: Floats, most: int) -> "AlikeCovers":
        """Returns the groups of workloads with the same cheapest `most` covers, the cheapest of each first."""
        by_cost = np.lexsort((cost, self.owner))
        number = np.minimum(self.number, most)
        counts = self.counts[by_cost[ranges(self.first, number)]]
        return _grouped(counts, np.cumsum(number) - number, number, self.group)

    def known_at(self, known: Ints) -> Ints:
        """Returns the position of a cover of each workload's own, shape (workload, size); -1: it has no such cover."""
        return position_of(known, self.counts, self.first[self.group], self.number[self.group])


def alike_covers(covers: Covers) -> AlikeCovers:
    """Returns the groups of workloads with the same covers, without what GPUs under MPS would carry."""
    first = covers.first()
    number = np.diff(np.append(first, len(covers.workload)))
    return _grouped(covers.counts, first, number, np.arange(len(first)))


def _grouped(counts: Ints, first: Ints, number: Ints, of_workload: Ints) -> AlikeCovers:
    """
    Returns the groups of workloads with the same covers.

    Parameters
    ----------
    counts
        Shape (cover, size).
    first, number
        Shape (set,): sets of covers that follow one another, each with one at least.
    of_workload
        Shape (workload,): its set.
    """
    # A number for each different cover, and for each different set of covers: sums of random words tell them apart, of
    # 10,000 sets all but with a probability of 1e-11.
    words = np.random.default_rng(0).integers(1, 2**62, size=counts.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        cover = counts @ words
        mixed = (cover ^ (cover >> 29)) * np.int64(0x1B873593CC9E2D51)
        sums = np.add.reduceat(mixed, first) if len(first) else first
    _, example, group = np.unique(sums, return_index=True, return_inverse=True)
    own = number[example]
    return AlikeCovers(group[of_workload], counts[ranges(first[example], own)], np.cumsum(own) - own, own)
