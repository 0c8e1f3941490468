"""
Which workloads the prices leave undecided, and between which covers.

At good prices most workloads have one cheapest cover. Those with several that cost the same or nearly form classes, of
workloads with the same covers (alike_covers.py): for a program they differ in nothing, so it needs only their number.
There are few classes at any number of workloads.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..performance.interference.prediction import Floats, Ints
from .alike_covers import AlikeCovers
from .covers import ranges

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


def near_covers(alike: AlikeCovers, price: Floats, alone: Ints, known: Ints | None = None) -> NearCovers:
    """
    Returns the cheapest cover of each workload, and the classes of those with several that are near.

    Parameters
    ----------
    price
        Shape (size,): USD per hour of a partition.
    alone
        Workloads that are to be a class each.
    known
        Shape (workload, size): covers of a similar problem's plan, which fit whole GPUs together; None: none are known.
    """
    cost = alike.counts @ price
    tied = _tied(alike, cost)
    # Of equals that of most partitions, which fit anywhere.
    partitions = np.where(tied, alike.counts.sum(axis=1), -1)
    most = np.maximum.reduceat(partitions, alike.first)[alike.owner]
    cheapest = alike.counts[alike.first_where(partitions == most)][alike.group].astype(np.int64)
    kept = None
    if known is not None:
        at = alike.known_at(known)
        listed = np.flatnonzero(at >= 0)
        equal = listed[tied[at[listed]]]
        cheapest[equal] = known[equal]
        kept = cheapest.copy()
        kept[listed] = known[listed]
    return NearCovers(cheapest, len(alone), _classes(alike.nearest(cost, MOST_COVERS), price, alone), kept)


def _tied(alike: AlikeCovers, cost: Floats) -> NDArray[np.bool_]:
    """Tells of each cover whether it is as cheap as its group's cheapest."""
    tied: NDArray[np.bool_] = cost <= alike.least(cost) * (1 + TIED)
    return tied


def _classes(near: AlikeCovers, price: Floats, alone: Ints) -> Classes:
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
