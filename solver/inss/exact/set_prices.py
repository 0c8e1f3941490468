"""
What any set of models is worth at most on one GPU where each has a price: W(g, pi) = max over S of v(g, S) - sum of pi.

Sets are too many beyond some dozen models. They are divided into cells (set_cells.py), with the number n of members,
the limits L0 and L1 of their L2 use l, and upper bounds c of what they count there. The GPU has U units and M memory.
Hence for any theta >= 0 and any mu and nu

    v(g, S) - sum of pi_i  <=  max over units, at most U in all, of sum of (most over b of c_i(u_i, b) - theta m_i(b))
                               + mu l_i(u_i) + nu - pi_i
                               + theta M - nu n - mu L,         L = L0 where mu >= 0, else L1

as every term that is added is at least 0 for a set of the cell. The right-hand side is a knapsack over units. The
multipliers are moved by Polyak's steps towards the least right-hand side; whatever they are, it is a bound. Cells that
are worth more than what is known are halved. What the knapsacks choose are sets worth looking at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...performance.interference.prediction import Floats
from ..decision import ROUNDING
from ..latency import Ints
from .effort import IsOver, never_over
from .set_cells import Cell, Members
from .set_values import NEVER, Asked

STEPS = 6
"""Of the multipliers, for each size of the cells."""

ENOUGH = 1e-6
"""Part by which a bound may be above what is known, and is left so."""

SHORTER = 0.7
"""Of Polyak's step."""

USUAL_L2, USUAL_NUMBER = 10.0, 4.0
"""Percent of L2 use, and models of a set: what the multipliers' steps are counted in."""

Chosen = tuple[tuple[int, int], ...]
"""Models of a set, and their units."""


@dataclass(eq=False)
class _Open:
    """A cell that is not decided, its multipliers, and what follows from that of memory."""

    cell: Cell
    of_l2: float
    of_number: float
    of_memory: float
    worth: Floats
    """Most over b of c - theta m, shape (model, units)."""
    used: Floats
    """Memory of that batch, shape (model, units), MiB."""
    bound: float = np.inf


@dataclass(frozen=True)
class Priced:
    """What a set is worth at most at prices, and sets that were met on the way."""

    bound: float
    """At least 0: a GPU may have no model."""
    sets: tuple[Chosen, ...]


class SetPrices:
    """The question for one type of GPU, at prices that change."""

    def __init__(self, asked: Asked, kind: int) -> None:
        """Finds who can run there at all, and how many together."""
        self.members = Members.of(asked, kind)
        self.cells: Sequence[Cell] = tuple(self.members.cells())
        """Where the search begins; they have all sets in them."""

    def priced(self, prices: Floats, known: float, *, rounds: int, is_over: IsOver = never_over) -> Priced | None:
        """
        Returns what no set is worth more than at prices, shape (model,); None: there was no time for any bound.

        `known`: what some set is worth; cells that cannot exceed it are not looked at again.
        """
        own = prices[self.members.who]
        best, sets = max(known, 0.0), list[Chosen]()
        cells = []
        for cell in self.cells:
            if is_over():
                return None
            cells.append(self._opened(cell, 0.0))
        for turn in range(rounds):
            for step in range(STEPS):
                if (turn or step) and is_over():
                    break
                cells = [one for one in cells if one.bound > best * (1 + ENOUGH)]
                if cells:
                    sets += self._step(cells, own, best)
            if turn + 1 < rounds and not is_over():
                cells = [half for one in cells if one.bound > best * (1 + ENOUGH) for half in self._halves(one)]
        bound = max([best * (1 + ENOUGH), *(one.bound for one in cells)])
        return Priced(bound + ROUNDING * float(np.abs(prices).sum()), tuple(dict.fromkeys(sets)))

    def _opened(self, cell: Cell, of_memory: float) -> _Open:
        worth, used = self._within(cell, of_memory)
        return _Open(cell, cell.of_l2, cell.of_number, of_memory, worth, used)

    def _within(self, cell: Cell, of_memory: float) -> tuple[Floats, Floats]:
        """Returns what is worth most where memory has a price, and its memory, shape (model, units) each."""
        worth = self.members.worth(cell)
        if of_memory:
            worth = worth - of_memory * self.members.memory[:, None, :]
        batch = worth.argmax(axis=2)
        most: Floats = np.take_along_axis(worth, batch[:, :, None], axis=2)[:, :, 0]
        return most, np.take_along_axis(self.members.memory, batch, axis=1)

    def _halves(self, one: _Open) -> Iterator[_Open]:
        lower, upper = one.cell.halves()
        worth, used = self._within(upper, one.of_memory)
        multipliers = one.of_l2, one.of_number, one.of_memory
        yield _Open(lower, *multipliers, one.worth, one.used, one.bound)
        yield _Open(upper, *multipliers, worth, used, one.bound)

    def _step(self, cells: list[_Open], prices: Floats, target: float) -> list[Chosen]:
        """Bounds every cell at its multipliers, and moves these; returns what the knapsacks chose."""
        members = self.members
        value = np.stack([one.worth + one.of_l2 * members.l2 + one.of_number for one in cells]) - prices[:, None]
        found = []
        for one, (most, chosen) in zip(cells, _knapsacks(value), strict=True):
            edge = one.cell.low if one.of_l2 >= 0 else one.cell.high
            bound = most + one.of_memory * members.room - one.of_number * one.cell.number - one.of_l2 * edge
            l2 = sum(float(members.l2[i, u]) for i, u in chosen)
            memory = sum(float(one.used[i, u]) for i, u in chosen)
            one.bound = min(one.bound, bound)
            self._move(one, bound - target, l2, len(chosen), memory)
            if chosen:
                found.append(tuple((int(members.who[i]), u + 1) for i, u in chosen))
        return found

    def _move(self, one: _Open, above: float, l2: float, number: int, memory: float) -> None:
        """One step of Polyak's, each multiplier counted by how much of its kind there is."""
        cell, room = one.cell, self.members.room
        off_l2 = min(l2 - cell.low, 0.0) + max(l2 - cell.high, 0.0)
        slope = np.array([off_l2 / USUAL_L2, (number - cell.number) / USUAL_NUMBER, (room - memory) / room])
        if one.of_memory == 0.0 and slope[2] > 0:
            slope[2] = 0.0
        size = float(slope @ slope)
        if size < 1e-12 or above <= 0:
            return
        step = SHORTER * above / size
        one.of_l2 -= step * slope[0] / USUAL_L2
        one.of_number -= step * slope[1] / USUAL_NUMBER
        of_memory = max(one.of_memory - step * slope[2] / room, 0.0)
        if of_memory != one.of_memory:
            one.of_memory = of_memory
            one.worth, one.used = self._within(cell, of_memory)


def _knapsacks(value: Floats) -> list[tuple[float, list[tuple[int, int]]]]:
    """Returns for each cell the most of any choice of units, at most one a model; value: (cell, model, units)."""
    cells, _, units = value.shape
    models = np.flatnonzero((value.max(axis=2) > 0).any(axis=0))
    best = np.zeros((cells, units + 1))  # best[:, c]: models so far on at most c units
    before = np.full((cells, 2 * units - 1), NEVER)
    windows = sliding_window_view(before, units, axis=1)  # of c: best[c - units], .. best[c - 1]
    taken = np.zeros((len(models), cells, units), dtype=np.int16)
    for at, i in enumerate(models.tolist()):
        before[:, units - 1 :] = best[:, :-1]
        tried = windows + value[:, None, i, ::-1]
        last = tried.argmax(axis=2)
        most = np.take_along_axis(tried, last[..., None], axis=2)[..., 0]
        is_better = most > best[:, 1:]
        taken[at] = np.where(is_better, units - last, 0)
        np.maximum(best[:, 1:], most, out=best[:, 1:])
    return [(float(best[cell, units]), _chosen(taken[:, cell], models)) for cell in range(cells)]


def _chosen(taken: NDArray[np.int16], models: Ints) -> list[tuple[int, int]]:
    """Returns models and indices of their units, given what each took at each capacity; shape (model, units)."""
    left, chosen = taken.shape[1], []
    for at in range(len(models) - 1, -1, -1):
        units = int(taken[at, left - 1]) if left else 0
        if units:
            chosen.append((int(models[at]), units - 1))
            left -= units
    return chosen[::-1]
