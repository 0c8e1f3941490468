"""
All sets of residents in cells that could be worth more than a threshold.

For a cell K of just n residents, with its multipliers l, let v_i = y_i - l p_i(K). By cells.py a set whose GPU has its
surroundings in K is worth at most l high + sum v_i, and keeps sum u_i(K) <= U and sum p_i(K) <= high. Guests are in an
order, and with

    F[j, k, w]   the most that just k of the guests from the j-th on collect with at most w units

a partial set worth L, with k residents missing and w units left, is grown by the j-th guest only if L + v_j +
F[j + 1, k - 1, w - u_j] is above the threshold. What is not listed is worth no more than the threshold or in another
cell: F bounds every completion. F falls in j, so the guests that a partial set may be grown by end at a place that a
binary search finds. Before, guests are left out that are in no such set: with the table T of the knapsack, those with
l high + v_i + T[n - 1, U - u_i] not above the threshold.

All this holds for every l >= 0. It has to be so for the cell's own l and for l = 0 too, where v_i = y_i and a complete
set's L is what it is worth. With the cell's own alone sets stay that are worth little and ask little, for l times what
they leave of a range counts: at 300 services all but one in a thousand of those listed were such.

All partial sets of many cells are grown at once. A cell with too many of them is given up, and says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .cells import ASKED_ERROR, Cells, fixed, valued
from .knapsack import most_collected, rounding
from .least_demands import Singles

FLOATS_AT_ONCE = 1 << 23
"""Entries of F, of all cells whose sets are listed together."""

TRIED = 40
"""How many times as many partial sets as a cell may keep are tried at most."""

NEVER = np.float32(-1e9)
"""Stands for what no set collects."""


@dataclass(frozen=True, eq=False)
class ListedSets:
    """The sets of some cells."""

    sets: list[Ints]
    """By number of residents, each of shape (set, resident), rising guests; without repeats."""
    given_up: Ints
    """Cells that have too many."""


def list_sets(
    cells: Cells, price: Floats, capacity: int, threshold: float, most: int, follows: np.ndarray
) -> ListedSets:
    """
    Returns all sets in cells of a fixed number of residents that could be worth more than a threshold.

    Parameters
    ----------
    price
        Shape (guest,).
    most
        Partial sets of one size after which a cell is given up.
    follows
        Shape (guest,): whether it is alike to the guest before it, and so in no set without that one.
    """
    found: list[Ints] = []
    given_up: list[Ints] = []
    for residents in np.unique(cells.residents).tolist():
        if residents > capacity:
            continue
        rows = np.flatnonzero(cells.residents == residents)
        for begin in range(0, len(rows), 128):
            some = rows[begin : begin + 128]
            sets, left = _list_alike(cells.of(some), price, capacity, threshold, most, follows)
            found += sets
            given_up.append(some[left])
    return ListedSets(found, np.concatenate(given_up) if given_up else np.zeros(0, dtype=np.int64))


def _list_alike(
    cells: Cells, price: Floats, capacity: int, threshold: float, most: int, follows: np.ndarray
) -> tuple[list[Ints], Ints]:
    """As `list_sets`, for cells of one number of residents; returns the sets, and the cells that were given up."""
    residents = int(cells.residents[0])
    single = price.astype(np.float32)
    values = [valued(cells, single, cells.multiplier), np.broadcast_to(single, cells.units.shape)]
    bases = [fixed(cells, cells.multiplier), np.zeros(len(cells))]
    room = capacity - cells.units.astype(np.int64)
    # Another resident of value v makes rounding no worse than that of so many residents and it.
    slack = float(rounding(cells.residents[:1] + 1)[0]) * max(float(single.max(initial=0.0)), 0.0)
    kept = room >= 0
    for value, base in zip(values, bases, strict=True):
        table = most_collected(value, cells.units, cells.residents, capacity)[residents - 1]
        beside = np.take_along_axis(table.T, np.maximum(room, 0), axis=1)
        kept &= base[:, None] + value + beside + slack > threshold
    number = kept.sum(axis=1)
    enough = number >= residents
    sets: list[Ints] = []
    given_up = []
    order = np.flatnonzero(enough)[np.argsort(number[enough], kind="stable")]
    per_guest = len(values) * (residents + 1) * (capacity + 1)
    while order.size:
        # Cells with about as many guests each, so that little of F is empty.
        step = max(int(FLOATS_AT_ONCE // (per_guest * (number[order[-1]] + 1))), 1)
        some, order = order[-step:], order[:-step]
        limits = [(value[some], base[some]) for value, base in zip(values, bases, strict=True)]
        listing = _Listing(cells.of(some), limits, kept[some], capacity, threshold - slack, follows)
        own, left = listing.run(most)
        sets.append(own)
        given_up.append(some[left])
    return sets, np.concatenate(given_up) if given_up else np.zeros(0, dtype=np.int64)


class _Listing:
    """Cells of one number of residents, with the guests that matter in each; arrays have shape (cell, place, ...)."""

    def __init__(
        self,
        cells: Cells,
        limits: Sequence[tuple[Singles, Floats]],
        kept: np.ndarray,
        capacity: int,
        threshold: float,
        follows: np.ndarray,
    ) -> None:
        self._residents, self._capacity, self._threshold = int(cells.residents[0]), capacity, threshold
        width = int(kept.sum(axis=1).max())
        value = limits[0][0]
        keys = np.where(kept, -cells.units.astype(np.float64) * 1e6 - np.clip(value, -1e4, 1e4), np.inf)
        self.guest = np.argsort(keys, axis=1, kind="stable")[:, :width]
        here = np.take_along_axis(kept, self.guest, axis=1)
        self._follows = follows[self.guest]
        self._units = np.where(here, np.take_along_axis(cells.units.astype(np.int64), self.guest, axis=1), capacity + 1)
        self._values = [
            np.where(here, np.take_along_axis(value, self.guest, axis=1), NEVER).astype(np.float32)
            for value, _ in limits
        ]
        self._asked = np.stack(
            [np.take_along_axis(cells.asked[:, c], self.guest, axis=1).ravel() for c in range(cells.low.shape[1])],
            axis=-1,
        )
        self._cap = cells.high * ASKED_ERROR
        self._bases = [base for _, base in limits]
        self._rests = [self._most_of_the_rest(value) for value in self._values]

    def _most_of_the_rest(self, value: Singles) -> Singles:
        """Returns F, shape (cell, place, units, residents)."""
        count, width = value.shape
        k, units = self._residents, self._capacity + 1
        rest: Singles = np.empty((count, width + 1, units, k + 1), dtype=np.float32)
        # F of the next place; before it, for less than no units, what no set collects.
        padded: Singles = np.full((count, 2 * units, k + 1), NEVER, dtype=np.float32)
        now = padded[:, units:]
        now[..., 0] = 0.0
        rest[:, width] = now
        row = np.arange(count)[:, None] * 2 * units + np.arange(units, 2 * units)
        own = np.empty((count, units, k + 1), dtype=np.float32)
        for at in range(width - 1, -1, -1):
            left = (row - self._units[:, at, None]).ravel()
            # "clip", though all are there: with "raise" the result is written twice.
            padded.reshape(-1, k + 1).take(left, axis=0, out=own.reshape(-1, k + 1), mode="clip")
            own += value[:, at, None, None]
            np.maximum(now[..., 1:], own[..., :-1], out=now[..., 1:])
            rest[:, at] = now
        return rest

    def _at(self, cell: Ints, place: Ints, room: Ints, missing: int) -> Ints:
        """Returns where F stands in its array, flat."""
        width = self._units.shape[1]
        flat: Ints = ((cell * (width + 1) + place) * (self._capacity + 1) + room) * (self._residents + 1) + missing
        return flat

    def run(self, most: int) -> tuple[Ints, Ints]:
        """Returns the sets, as guests, and the cells that have more partial sets than `most`."""
        count, width = self._units.shape
        cell = np.arange(count)
        begin, room = np.zeros(count, dtype=np.int64), np.full(count, self._capacity)
        worths, asked = [base.astype(np.float64) for base in self._bases], np.zeros((count, self._cap.shape[1]))
        members = np.zeros((count, 0), dtype=np.int64)
        given_up = np.zeros(count, dtype=bool)
        for missing in range(self._residents, 0, -1):
            end = self._end(cell, begin, missing, room, worths)
            tried = end - begin
            given_up |= np.bincount(cell, weights=tried, minlength=count) > TRIED * most
            tried[given_up[cell]] = 0
            parent = np.repeat(np.arange(len(cell)), tried)
            place = np.arange(len(parent)) - np.repeat(np.cumsum(tried) - tried, tried) + begin[parent]
            of_cell = cell[parent]
            at = of_cell * width + place
            left = room[parent] - self._units.take(at)
            sums = asked[parent] + self._asked[at]
            grown = (left >= 0) & (sums <= self._cap[of_cell]).all(axis=1)
            # Of alike guests, who stand beside each other, the first ones.
            grown &= ~self._follows.take(at) | ((place == begin[parent]) & (missing < self._residents))
            # The rest of the work is done for those that are left, for one limit after the other.
            kept = np.flatnonzero(grown)
            rest_at = self._at(of_cell[kept], place[kept] + 1, left[kept], missing - 1)
            for worth, value, rest in zip(worths, self._values, self._rests, strict=True):
                own = worth[parent[kept]] + value.take(at[kept])
                above = own + rest.take(rest_at) > self._threshold
                kept, rest_at = kept[above], rest_at[above]
            given_up |= np.bincount(of_cell[kept], minlength=count) > most
            kept = kept[~given_up[of_cell[kept]]]
            worths = [
                worth[parent[kept]] + value.take(at[kept]) for worth, value in zip(worths, self._values, strict=True)
            ]
            cell, begin, room, asked = of_cell[kept], place[kept] + 1, left[kept], sums[kept]
            members = np.concatenate([members[parent[kept]], self.guest.take(at[kept])[:, None]], axis=1)
        members = members[~given_up[cell]]
        return np.unique(np.sort(members, axis=1), axis=0), np.flatnonzero(given_up)

    def _end(self, cell: Ints, begin: Ints, missing: int, room: Ints, worths: Sequence[Floats]) -> Ints:
        """Returns for each partial set the place from which on no guest is worth growing it by."""
        width = self._units.shape[1]
        low, high = begin.copy(), np.full(len(cell), width)
        while True:
            open_ = low < high
            if not open_.any():
                return low
            middle = (low + high) // 2
            good = open_.copy()
            at = self._at(cell, np.minimum(middle, width), room, missing)
            for worth, rest in zip(worths, self._rests, strict=True):
                good &= worth + rest.take(at) > self._threshold
            low = np.where(good, middle + 1, low)
            high = np.where(open_ & ~good, middle, high)
