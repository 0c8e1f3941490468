"""
The most valuable sets of guests by the units that they take in a cell: a knapsack over sizes, for many cells at once.

Units are whole numbers from 1 to U. Of the guests that take s units in a cell, a set of at most n residents holds at
most min(n, U / s), so only so many of them matter, the most valuable: about a hundred guests in all, however many there
are. The rest is dynamic programming over these with (residents, units) as state, cells as the last axis of one array.

Values are floats of 32 bits and guests are told apart to 2^-24 of the greatest value; whoever takes the result for an
upper limit adds `ERROR` times that.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .least_demands import Shorts, Singles

ERROR = 1e-5
"""Part of the greatest value of a guest by which a result may be too low: 48 residents, rounded each."""

_INDEX_BITS, _VALUE_BITS = 24, 24
_NOBODY = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class MostValuable:
    """The most valuable set of each cell."""

    value: Floats
    """Shape (cell,)."""
    sets: Ints
    """Guests, shape (cell, residents), -1 where there are fewer."""
    table: Singles
    """Most that so many residents at most collect with so many units at most, shape (residents, units, cell)."""


def most_valuable(value: Singles, units: Shorts, residents: int, capacity: int) -> MostValuable:
    """
    Returns the most valuable sets of at most so many residents, each guest at most once.

    Parameters
    ----------
    value
        Shape (cell, guest); who is worth nothing or less is in no set.
    units
        Shape (cell, guest), at least 1; above the capacity: the guest cannot be there.
    """
    cells = len(value)
    sizes, guests, worth = _candidates(value, units, residents, capacity)
    best = np.zeros((residents + 1, capacity + 1, cells), dtype=np.float32)
    taken = []
    for size, own in zip(sizes, worth, strict=True):
        with_it = best[:-1, : capacity + 1 - size] + own
        now = best[1:, size:]
        taken.append(with_it > now)
        np.maximum(now, with_it, out=now)
    sets = np.full((cells, residents), -1, dtype=np.int64)
    left, room, every = np.full(cells, residents), np.full(cells, capacity), np.arange(cells)
    for size, guest, took in zip(sizes[::-1], guests[::-1], taken[::-1], strict=True):
        can = (left > 0) & (room >= size)
        chosen = every[can][took[left[can] - 1, room[can] - size, every[can]]]
        left[chosen] -= 1
        room[chosen] -= size
        sets[chosen, left[chosen]] = guest[chosen]
    return MostValuable(best[-1, -1].astype(np.float64), sets, best)


def _candidates(
    value: Singles, units: Shorts, residents: int, capacity: int
) -> tuple[list[int], list[Ints], list[Singles]]:
    """Returns sizes, and for each the next most valuable guest of each cell with its worth, -inf: there is none."""
    cells, count = value.shape
    most = max(float(value.max(initial=0.0)), 1e-30)
    scale = ((1 << _VALUE_BITS) - 1) / most
    steps = ((most - np.maximum(value, 0.0)) * scale).astype(np.int64)
    keys = (units.astype(np.int64) << (_VALUE_BITS + _INDEX_BITS)) | (steps << _INDEX_BITS) | np.arange(count)
    useless = (value <= 0) | (units > capacity)
    keys[useless] = _NOBODY
    keys.sort(axis=1)
    size_of = np.where(useless, capacity + 1, units) + np.arange(cells)[:, None] * (capacity + 2)
    number = np.bincount(size_of.ravel(), minlength=cells * (capacity + 2)).reshape(cells, -1)
    start = np.cumsum(number, axis=1) - number
    every = np.arange(cells)
    sizes, guests, worth = [], [], []
    for size in np.flatnonzero(number[:, : capacity + 1].any(axis=0)).tolist():
        for rank in range(min(residents, capacity // size, int(number[:, size].max()))):
            there = rank < number[:, size]
            at = np.where(there, start[:, size] + rank, 0)
            guest = keys[every, at] & ((1 << _INDEX_BITS) - 1)
            guest = np.where(there, guest, 0).astype(np.int64)
            sizes.append(size)
            guests.append(guest)
            worth.append(np.where(there, value[every, guest], np.float32(-np.inf)).astype(np.float32))
    return sizes, guests, worth
