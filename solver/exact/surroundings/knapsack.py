"""
The most valuable sets of guests by the units that they take in a cell: a knapsack over sizes, for many cells at once.

Units are whole numbers from 1 to U. Of the guests that take s units in a cell, a set of at most n residents holds at
most min(n, U / s), so only so many of them matter, the most valuable: about a hundred guests in all, however many there
are. The rest is dynamic programming over these with (residents, units) as state, cells as the last axis of one array.

Values are floats of 32 bits and guests are told apart to 2^-24 of the greatest value; whoever takes the result for an
upper limit adds `rounding` times that.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .least_demands import Shorts, Singles

_INDEX_BITS, _VALUE_BITS = 24, 24
_NOBODY = np.iinfo(np.int64).max


def rounding(residents: Ints) -> Floats:
    """
    Returns the part of the greatest value of a guest by which results for so many residents may be too low.

    With v that value and e = 2^-24, to which a float of 32 bits is rounded: the k-th guest is added to a sum of up to
    k v, which is rounded by e k v, and may be worth e v less than one who was not told apart. Of n residents that is
    e v (n (n + 1) / 2 + n); twice as much is allowed for.
    """
    parts: Floats = (residents * (residents + 1) / 2 + residents) * 2.0**-23
    return parts


@dataclass(frozen=True, eq=False)
class MostValuable:
    """The most valuable set of each cell."""

    value: Floats
    """Shape (cell,)."""
    sets: Ints
    """Guests, shape (cell, residents), -1 where there are fewer."""


def most_valuable(value: Singles, units: Shorts, residents: Ints, capacity: int) -> MostValuable:
    """
    Returns the most valuable sets of at most so many residents, each guest at most once.

    Parameters
    ----------
    value
        Shape (cell, guest); who is worth nothing or less is in no set.
    units
        Shape (cell, guest), at least 1; above the capacity: the guest cannot be there.
    residents
        At least 1, shape (cell,); work and memory grow with the most of any cell.
    """
    cells, most = len(value), int(residents.max(initial=1))
    candidates = _candidates(value, units, residents, capacity)
    taken = np.zeros((len(candidates.sizes), most, capacity + 1, cells), dtype=bool)
    best = _table(candidates, most, capacity, taken)
    sets = np.full((cells, most), -1, dtype=np.int64)
    left, room, every = residents.copy(), np.full(cells, capacity), np.arange(cells)
    for step in range(len(candidates.sizes) - 1, -1, -1):
        chosen = np.flatnonzero(taken[step, left - 1, room, every] & (left > 0))
        if chosen.size:
            left[chosen] -= 1
            room[chosen] -= candidates.sizes[step]
            sets[chosen, left[chosen]] = candidates.guest[step, chosen]
    return MostValuable(best[residents, -1, every].astype(np.float64), sets)


def most_collected(value: Singles, units: Shorts, residents: Ints, capacity: int) -> Singles:
    """
    Returns the most that so many residents at most collect with so many units at most, shape (residents, units, cell).

    Of a cell with fewer residents than others its own number of them are to be read. Arguments as for `most_valuable`.
    """
    return _table(_candidates(value, units, residents, capacity), int(residents.max(initial=1)), capacity)


def _table(candidates: "_Candidates", most: int, capacity: int, taken: np.ndarray | None = None) -> Singles:
    """Returns the table; `taken`: told at which step who is in a set, shape (step, residents, units, cell)."""
    cells = candidates.guest.shape[1]
    best = np.zeros((most + 1, capacity + 1, cells), dtype=np.float32)
    with_it = np.empty((most, capacity + 1, cells), dtype=np.float32)
    for step, size in enumerate(candidates.sizes):
        grown = np.add(best[:-1, : capacity + 1 - size], candidates.worth[step], out=with_it[:, : capacity + 1 - size])
        now = best[1:, size:]
        if taken is not None:
            np.greater(grown, now, out=taken[step, :, size:])
        np.maximum(now, grown, out=now)
    return best


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Of each size the next most valuable guest of each cell; arrays have shape (step, cell)."""

    sizes: list[int]
    """Shape (step,), rising."""
    guest: Ints
    worth: Singles
    """-inf: there is none."""


def _candidates(value: Singles, units: Shorts, residents: Ints, capacity: int) -> _Candidates:
    cells, count = value.shape
    most = max(float(value.max(initial=0.0)), 1e-30)
    scale = ((1 << _VALUE_BITS) - 1) / most
    steps = ((most - np.maximum(value, 0.0)) * scale).astype(np.int64)
    keys = (units.astype(np.int64) << (_VALUE_BITS + _INDEX_BITS)) | (steps << _INDEX_BITS) | np.arange(count)
    useless = (value <= 0) | (units > capacity)
    keys[useless] = _NOBODY
    keys.sort(axis=1)
    every = np.arange(cells)
    size_of = np.where(useless, capacity + 1, units) + every[:, None] * (capacity + 2)
    number = np.bincount(size_of.ravel(), minlength=cells * (capacity + 2)).reshape(cells, -1)
    start = np.cumsum(number, axis=1) - number
    all_sizes = np.arange(capacity + 1)
    ranks = np.minimum(number[:, :-1], residents[:, None]).max(axis=0, initial=0)
    ranks = np.minimum(ranks, capacity // np.maximum(all_sizes, 1))
    sizes = np.repeat(all_sizes, ranks)
    rank = np.arange(len(sizes)) - np.repeat(np.cumsum(ranks) - ranks, ranks)
    there = rank[:, None] < number[:, sizes].T
    at = np.where(there, start[:, sizes].T + rank[:, None], 0)
    guest = np.where(there, keys[every, at] & ((1 << _INDEX_BITS) - 1), 0)
    worth = np.where(there, value[every, guest], np.float32(-np.inf)).astype(np.float32)
    return _Candidates(sizes.tolist(), guest, worth)
