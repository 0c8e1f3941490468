"""
Which workloads the prices leave undecided, and between which covers.

At good prices most workloads have one cheapest cover. Those with several that cost the same or nearly form classes, of
workloads with the same near covers: for a program they differ in nothing, so it needs only their number. There are few
classes at any number of workloads.
"""

from dataclasses import dataclass

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .covers import Covers, runs

TIED = 1e-6
"""Part of a cover's cost by which another may be dearer and still be as cheap."""

MOST_COVERS = 8
"""Covers of a class."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of workloads with several near covers, in flat arrays."""

    member: Ints
    """Shape (member,): workloads, class by class."""
    members: Ints
    """Shape (class,): how many there are of each."""
    counts: Ints
    """Shape (cover, size): partitions of each size in the covers, class by class, each class's cheapest first."""
    covers: Ints
    """Shape (class,): how many there are of each."""

    def first(self, number: int) -> "Classes":
        """Returns the first classes alone."""
        members, covers = self.members[:number], self.covers[:number]
        return Classes(self.member[: members.sum()], members, self.counts[: covers.sum()], covers)


@dataclass(frozen=True, eq=False)
class NearCovers:
    """What prices decide, and what they leave open."""

    cheapest: Ints
    """Shape (workload, size): partitions of each size in the cheapest cover; of equals in the known one."""
    alone: int
    """How many workloads are a class each, whatever covers they have; they come first."""
    classes: Classes
    """The others are those of least regret first, of equals the largest."""
    kept: Ints | None = None
    """The same, but of known covers also those that are only near; None: none are known."""


def near_covers(covers: Covers, price: Floats, alone: Ints, known: Ints | None = None) -> NearCovers:
    """
    Returns the cheapest cover of each workload, and the classes of those with several that are near.

    Parameters
    ----------
    price
        Shape (size,): USD per hour of a partition.
    alone
        Workloads that are to be a class each, ascending.
    known
        Shape (workload, size): covers of a similar problem's plan, which fit whole GPUs together; None: none are known.
    """
    cost = covers.counts @ price
    regret = cost - np.minimum.reduceat(cost, covers.first())[covers.workload]
    near = _nearest(covers, regret)
    own = np.isin(covers.workload[near], alone)
    listed = _joined(_of_each(covers, regret, near[own]), _alike(covers, regret, near[~own]))
    cheapest = covers.counts[_cheapest(covers, regret, known)].astype(np.int64)
    return NearCovers(cheapest, alone.size, listed, None if known is None else _kept(covers, cheapest, known))


def _joined(one: Classes, other: Classes) -> Classes:
    return Classes(
        np.concatenate([one.member, other.member]),
        np.concatenate([one.members, other.members]),
        np.concatenate([one.counts, other.counts]),
        np.concatenate([one.covers, other.covers]),
    )


def _kept(covers: Covers, cheapest: Ints, known: Ints) -> Ints:
    """Returns the known cover of each workload where it is listed, and its cheapest where not, as `NearCovers.kept`."""
    kept = cheapest.copy()
    listed = covers.workload[(covers.counts == known[covers.workload]).all(axis=1)]
    kept[listed] = known[listed]
    return kept


def _cheapest(covers: Covers, regret: Floats, known: Ints | None) -> Ints:
    """
    Returns the position of each workload's cheapest cover.

    Of equals it is the known one, else that of most partitions, which fit anywhere.
    """
    at = np.flatnonzero(regret <= TIED * covers.floor[covers.workload])
    partitions = covers.counts[at].sum(axis=1)
    if known is not None:
        partitions[(covers.counts[at] == known[covers.workload[at]]).all(axis=1)] = np.iinfo(np.int64).max
    start, group = runs(covers.workload[at])
    at = at[partitions == np.maximum.reduceat(partitions, start)[group]]
    return np.asarray(at[runs(covers.workload[at])[0]], dtype=np.int64)


def _nearest(covers: Covers, regret: Floats) -> Ints:
    """Returns the positions of each workload's MOST_COVERS nearest covers, in the order of the covers."""
    start, group = runs(covers.workload)
    if np.bincount(group).max(initial=0) <= MOST_COVERS:
        return np.arange(len(group))
    order = np.lexsort((regret, group))
    rank = np.arange(len(order)) - start[group[order]]
    return np.sort(order[rank < MOST_COVERS])


def _of_each(covers: Covers, regret: Floats, near: Ints) -> Classes:
    """Returns a class of each workload."""
    start, owner = runs(covers.workload[near])
    order = np.lexsort((regret[near], owner))
    members = np.ones(len(start), dtype=np.int64)
    return Classes(covers.workload[near[start]], members, covers.counts[near[order]], np.bincount(owner))


def _alike(covers: Covers, regret: Floats, near: Ints) -> Classes:
    """Returns the classes of workloads with several near covers: those of least regret first, then the largest."""
    _, number = runs(covers.workload[near])
    near = near[np.bincount(number)[number] > 1]
    workload, counts, own_regret = covers.workload[near], covers.counts[near], regret[near]
    start, owner = runs(workload)
    if not start.size:
        return Classes(workload, start, counts, start)
    positive = own_regret > TIED * covers.floor[workload]
    second = np.minimum.reduceat(np.where(positive, own_regret, np.inf), start)
    second[np.bincount(owner, weights=~positive) > 1] = 0.0
    # A number for each different cover, and for each different set of covers: sums of random words tell them apart.
    words = np.random.default_rng(0).integers(1, 2**62, size=counts.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        cover = counts @ words
        mixed = (cover ^ (cover >> 29)) * np.int64(0x1B873593CC9E2D51)
        sets = np.add.reduceat(mixed, start)
    _, example, which, members = np.unique(sets, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((-members, second[example]))
    rank = np.argsort(order)
    member = workload[start[np.argsort(rank[which], kind="stable")]]
    # Of each class the covers of one member, its example.
    rank_of_example = np.full(len(start), -1)
    rank_of_example[example] = rank
    listed = np.flatnonzero(rank_of_example[owner] >= 0)
    class_of = rank_of_example[owner[listed]]
    by_regret = listed[np.lexsort((own_regret[listed], class_of))]
    return Classes(member, members[order], counts[by_regret], np.bincount(class_of))
