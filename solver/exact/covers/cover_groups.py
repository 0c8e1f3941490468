"""
Covers of workloads that have the same, listed once.

Of 100,000 services with rates of their own, 3,000 different sets of covers were near the cheapest. What is asked of
the covers again and again, their cost at other prices, is asked of each set once.

Bounds rest on it, so sets are never taken for the same because hashes of them are: a hash proposes for each set an
example, and each is compared with its own.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...performance.interference.prediction import Floats, Ints
from .covers import Covers, position_of, ranges, runs

MOST_BITS = 62
"""Bits of a cover's number."""


@dataclass(frozen=True, eq=False)
class CoverGroups:
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

    def nearest(self, cost: Floats, most: int) -> "CoverGroups":
        """Returns the groups of workloads with the same cheapest `most` covers, the cheapest of each first."""
        by_cost = np.lexsort((cost, self.owner))
        number = np.minimum(self.number, most)
        counts = self.counts[by_cost[ranges(self.first, number)]]
        return grouped_sets(counts, np.cumsum(number) - number, number, self.group)

    def known_at(self, known: Ints) -> Ints:
        """Returns the position of a cover of each workload's own, shape (workload, size); -1: it has no such cover."""
        return position_of(known, self.counts, self.first[self.group], self.number[self.group])


def cover_groups(covers: Covers) -> CoverGroups:
    """Returns the groups of workloads with the same covers, without what GPUs under MPS would carry."""
    first = covers.first()
    number = np.diff(np.append(first, len(covers.workload)))
    return grouped_sets(covers.counts, first, number, np.arange(len(first)))


def grouped_sets(counts: Ints, first: Ints, number: Ints, of_workload: Ints) -> CoverGroups:
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
    number_of = _numbered(counts)
    _, example, group = np.unique(_hashes(counts, first), return_index=True, return_inverse=True)
    other = _unlike(number_of, first, number, example[group])
    if other.size:
        example, group = _told_apart(number_of, first, number, other, example, group)
    own = number[example]
    return CoverGroups(group[of_workload], counts[ranges(first[example], own)], np.cumsum(own) - own, own)


def _numbered(counts: Ints) -> Ints:
    """Returns a number for each cover, or several: the same if and only if the covers are, shape (number, cover)."""
    bits = max(int(counts.max(initial=0)).bit_length(), 1)
    together = MOST_BITS // bits
    place = 1 << bits * np.arange(together)
    parts = [counts[:, k : k + together] for k in range(0, max(counts.shape[1], 1), together)]
    return np.stack([part @ place[: part.shape[1]] for part in parts])


def _hashes(counts: Ints, first: Ints) -> Ints:
    """Returns for each set of covers a number that is the same for the same covers in any order, shape (set,)."""
    words = np.random.default_rng(0).integers(1, 2**62, size=counts.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        cover = counts @ words
        mixed = (cover ^ (cover >> 29)) * np.int64(0x1B873593CC9E2D51)
        return np.asarray(np.add.reduceat(mixed, first) if len(first) else first, dtype=np.int64)


def _unlike(number_of: Ints, first: Ints, number: Ints, example: Ints) -> Ints:
    """
    Returns the sets whose covers are not those of another set, their example.

    Nearly all have them in the same order too, which is looked at first.
    """
    as_many = number == number[example]
    compared = ranges(first[np.where(as_many, example, np.arange(len(first)))], number)
    of_set = np.repeat(np.arange(len(first)), number)
    in_doubt = np.zeros(len(first), dtype=np.bool_)
    in_doubt[of_set[_differs(number_of, number_of[:, compared])]] = True
    kept = np.flatnonzero(in_doubt[of_set])
    of_set = of_set[kept]
    unlike = ~as_many
    own, theirs = (_in_order(number_of[:, at], of_set) for at in (kept, compared[kept]))
    unlike[of_set[_differs(own, theirs)]] = True
    return np.flatnonzero(unlike)


def _differs(one: Ints, other: Ints) -> NDArray[np.bool_]:
    """Tells which covers differ, by their numbers, shape (number, cover)."""
    differs: NDArray[np.bool_] = (one != other).any(axis=0)
    return differs


def _in_order(numbers: Ints, of_set: Ints) -> Ints:
    """Returns the numbers of covers, shape (number, cover), sorted within each set."""
    return numbers[:, np.lexsort([*numbers, of_set])]


def _told_apart(
    number_of: Ints, first: Ints, number: Ints, other: Ints, example: Ints, group: Ints
) -> tuple[Ints, Ints]:
    """Returns examples and groups with groups of their own for some sets that are not like their examples."""
    of_covers: dict[bytes, list[int]] = {}
    for w in other.tolist():
        own = number_of[:, first[w] : first[w] + number[w]]
        of_covers.setdefault(_in_order(own, np.zeros(number[w])).tobytes(), []).append(w)
    group = group.copy()
    for g, members in enumerate(of_covers.values(), start=len(example)):
        group[members] = g
    return np.append(example, [members[0] for members in of_covers.values()]), group
