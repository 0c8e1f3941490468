"""Sets that were met, by what they are worth, of which those are asked for again and again whose services are left."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .master import Met


class RankedSets:
    """The sets, the most valuable first; those that are no more left are forgotten."""

    def __init__(self, sets: Sequence[Met], price: Floats, usd_per_hour: Sequence[float]) -> None:
        """
        Takes the sets.

        Parameters
        ----------
        price
            Of customers, shape (customer,), USD per hour.
        usd_per_hour
            Price of a GPU of each type.
        """
        sizes = np.array([len(members) for _, members in sets], dtype=np.int64)
        members = np.fromiter(chain.from_iterable(one for _, one in sets), dtype=np.int64, count=int(sizes.sum()))
        usd = np.bincount(np.repeat(np.arange(len(sets)), sizes), weights=price[members], minlength=len(sets))
        worth = usd / np.array(usd_per_hour)[np.array([number for number, _ in sets], dtype=np.int64)]
        ranked = np.argsort(-worth, kind="stable")
        self._sets = [sets[i] for i in ranked.tolist()]
        self._sizes = sizes[ranked]
        starts = (np.cumsum(sizes) - sizes)[ranked]
        self._member = members[_ranges(starts, self._sizes)]
        self._before = _equal_before(self._member, self._sizes)

    def first(self, left: Ints, most: int) -> list[Met]:
        """Returns the most valuable ones, so many at most, for whom enough is left of each customer: (customer,)."""
        if not self._sets:
            return []
        starts = np.cumsum(self._sizes) - self._sizes
        here = np.logical_and.reduceat(left[self._member] > self._before, starts)
        alive = np.flatnonzero(here)
        if len(alive) < len(self._sets) // 2:
            kept = np.repeat(here, self._sizes)
            self._member, self._before, self._sizes = self._member[kept], self._before[kept], self._sizes[here]
            self._sets = [self._sets[i] for i in alive.tolist()]
            return self._sets[:most]
        return [self._sets[i] for i in alive[:most].tolist()]


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Returns the numbers from each start on, so many of each."""
    numbers: Ints = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return numbers


def _equal_before(member: Ints, sizes: Ints) -> Ints:
    """Returns for each member, which rise in a set, how many equal ones are before it there."""
    at = np.arange(len(member))
    first = np.zeros(len(member), dtype=bool)
    first[(np.cumsum(sizes) - sizes)[sizes > 0]] = True
    first[1:] |= member[1:] != member[:-1]
    before: Ints = at - np.maximum.accumulate(np.where(first, at, 0))
    return before
