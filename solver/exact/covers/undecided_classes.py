"""
Which workloads the prices leave undecided, and between which covers.

At good prices most workloads have one cheapest cover. Those with several that cost the same or nearly form classes, of
workloads with the same covers (cover_groups.py): for a program they differ in nothing, so it needs only their number.
There are few classes at any number of workloads.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...performance.interference.prediction import Floats, Ints
from .cover_groups import CoverGroups
from .covers import ranges

TIED = 1e-6
"""Part of a cover's cost by which another may be dearer and still be as cheap."""

MOST_COVERS = 64
"""Covers of a class. With 16, those were cut off that a fractional plan of the bound's cost needs."""


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

    def in_order(self, order: Ints) -> "Classes":
        """Returns the classes in another order."""
        members, covers = self.members[order], self.covers[order]
        member = (np.cumsum(self.members) - self.members)[order]
        cover = (np.cumsum(self.covers) - self.covers)[order]
        return Classes(self.member[ranges(member, members)], members, self.counts[ranges(cover, covers)], covers)


@dataclass(frozen=True, eq=False)
class UndecidedClasses:
    """What prices decide, and what they leave open."""

    decided: Ints
    """Shape (workload, size): partitions of each size in the cover that a workload takes outside a program."""
    classes: Classes
    always: int
    """How many of the classes, the first, are in every program."""
    kept: Ints | None = None
    """The same as `decided`, but of a known plan's covers those that are near; None: none are known."""


def undecided_classes(alike: CoverGroups, price: Floats, alone: Ints, known: Ints | None = None) -> UndecidedClasses:
    """
    Returns the cheapest cover of each workload, and the classes of those with several that are near.

    Classes of workloads that are named come first, the others are those of least regret first, of equals the largest.

    Parameters
    ----------
    price
        Shape (size,): USD per hour of a partition.
    alone
        Workloads that are to be a class each, whatever covers they have.
    known
        Shape (workload, size): covers of a similar problem's plan, which fit whole GPUs together; None: none are known.
    """
    cost = alike.counts @ price
    tied = _tied(alike, cost)
    # Of equals that of most partitions, which fit anywhere.
    partitions = np.where(tied, alike.counts.sum(axis=1), -1)
    most = np.maximum.reduceat(partitions, alike.first)[alike.owner]
    cheapest = alike.counts[alike.first_where(partitions == most)][alike.group].astype(np.int64)
    kept = None if known is None else np.where((alike.known_at(known) >= 0)[:, None], known, cheapest)
    return UndecidedClasses(cheapest, _classes(alike.nearest(cost, MOST_COVERS), price, alone), len(alone), kept)


def _tied(alike: CoverGroups, cost: Floats) -> NDArray[np.bool_]:
    """Tells of each cover whether it is as cheap as its group's cheapest."""
    tied: NDArray[np.bool_] = cost <= alike.least(cost) * (1 + TIED)
    return tied


def _classes(near: CoverGroups, price: Floats, alone: Ints) -> Classes:
    """Returns the classes: those of one workload, then the groups with several covers."""
    cost = near.counts @ price
    tied = _tied(near, cost)
    second = np.minimum.reduceat(np.where(tied, np.inf, cost - near.least(cost)), near.first)
    second[np.add.reduceat(tied.astype(np.int64), near.first) > 1] = 0.0
    members = near.members - np.bincount(near.group[alone], minlength=len(near.first))
    undecided = np.flatnonzero((near.number > 1) & (members > 0))
    order = undecided[np.lexsort((-members[undecided], second[undecided]))]
    rank = np.full(len(near.first), -1)
    rank[order] = np.arange(len(order))
    of_workload = rank[near.group]
    of_workload[alone] = -1
    others = np.flatnonzero(of_workload >= 0)
    listed = np.concatenate([near.group[alone], order])
    return Classes(
        member=np.concatenate([alone, others[np.argsort(of_workload[others], kind="stable")]]),
        members=np.concatenate([np.ones(len(alone), dtype=np.int64), members[order]]),
        counts=near.counts[ranges(near.first[listed], near.number[listed])],
        covers=near.number[listed],
    )
