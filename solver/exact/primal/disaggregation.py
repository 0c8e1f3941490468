"""Which member of a class takes which of the covers that a program chose for it."""

import numpy as np

from ...performance.interference.prediction import Ints
from ..covers.covers import position_of
from ..covers.undecided_classes import Classes


def deal(classes: Classes, times: Ints, kept: Ints | None, partitions: Ints) -> None:
    """
    Gives the members of each class the covers that the program chose, and as many as possible those that they keep.

    times
        Shape (cover,): members of its class that take it; those that are left take none.
    kept
        Shape (workload, size): covers to keep; None: there are none.
    partitions
        Shape (workload, size), 0 for the members; filled in.
    """
    cover_of = np.full(len(classes.member), -1) if kept is None else _keeping(classes, times, kept)
    waiting = np.flatnonzero(cover_of < 0)
    left = times - np.bincount(cover_of[cover_of >= 0], minlength=len(times))
    cover = np.repeat(np.arange(len(times)), left)
    class_of_cover = np.repeat(np.arange(len(classes.covers)), classes.covers)[cover]
    class_of_member = np.repeat(np.arange(len(classes.members)), classes.members)[waiting]
    rank = np.arange(len(cover)) - np.searchsorted(class_of_cover, class_of_cover)
    cover_of[waiting[np.searchsorted(class_of_member, class_of_cover) + rank]] = cover
    served = np.flatnonzero(cover_of >= 0)
    partitions[classes.member[served]] = classes.counts[cover_of[served]]


def _keeping(classes: Classes, times: Ints, kept: Ints) -> Ints:
    """Returns for each member the cover of its class that it keeps, shape (member,); -1: none, or no more of it."""
    class_of = np.repeat(np.arange(len(classes.members)), classes.members)
    first = np.cumsum(classes.covers) - classes.covers
    cover_of = position_of(kept[classes.member], classes.counts, first[class_of], classes.covers[class_of])
    listed = np.flatnonzero(cover_of >= 0)
    listed = listed[np.argsort(cover_of[listed], kind="stable")]
    cover = cover_of[listed]
    rank = np.arange(len(listed)) - np.searchsorted(cover, cover)
    cover_of[listed[rank >= times[cover]]] = -1
    return cover_of
