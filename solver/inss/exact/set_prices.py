"""
What any set of models is worth at most on one GPU where each has a price: W(g, pi) = max over S of v(g, S) - sum of pi.

Sets are too many beyond some dozen models. They are divided into cells: sets of n models whose L2 use, all together, is
from L0 to L1. In a cell a model i on u units is disturbed by max(L0 - l_i(u), 0) at least and its kernels wait as among
n, so c_i(u, b), the w_i h_i of that (-inf where a limit is not kept), is an upper bound of what it counts. A set of the
cell has n members, from L0 to L1 of L2 use, and not more memory than the GPU's M. Hence for any theta >= 0 and any mu
and nu

    v(g, S) - sum of pi_i  <=  max over units, at most U in all, of sum of (most over b of c_i(u_i, b) - theta m_i(b))
                               + mu l_i(u_i) + nu - pi_i
                               + theta M - nu n - mu L,         L = L0 where mu >= 0, else L1

as every term that is added is at least 0 for a set of the cell. The right-hand side is a knapsack over units. The
multipliers are moved by Polyak's steps towards the least right-hand side; whatever they are, it is a bound. Cells that
are worth more than what is known are halved. What the knapsacks choose are sets worth looking at.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...performance.interference.prediction import Floats
from ..decision import ROUNDING
from ..latency import Ints
from .effort import IsOver, never_over
from .set_values import NEVER, Asked, alone

PARTS = 3
"""Into which the L2 use of sets of n models is cut at first."""

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
class _Cell:
    """Sets of `number` models with L2 use from `low` to `high`, percent."""

    number: int
    low: float
    high: float
    worth: Floats
    """c, shape (model, units, batch)."""
    of_l2: float = 0.0
    of_number: float = 0.0
    of_memory: float = 0.0
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
        tables = asked.latencies.types[kind]
        own = alone(asked, kind)
        self.asked, self.kind = asked, kind
        self.can: Ints = np.flatnonzero((own > NEVER).any(axis=1))
        self.room = asked.latencies.problem.gpus[kind].memory_mib * (1 + ROUNDING)
        self.l2 = tables.l2[self.can]
        self.memory = asked.memory(self.can)
        least = np.sort((own[self.can] > NEVER).argmax(axis=1) + 1)
        of_memory = np.sort(self.memory[:, 0])
        self.most = min(
            int((np.cumsum(one) <= most).sum()) for one, most in ((least, tables.units), (of_memory, self.room))
        )
        """Members of a set."""

    def _cells(self) -> Iterator[_Cell]:
        """Yields cells that have all sets in them."""
        if not len(self.can):
            return
        units = np.arange(1, self.l2.shape[1] + 1)
        slope = float(np.diff(self.l2, axis=1).max(initial=0.0))
        base = float((self.l2 - slope * units).max())
        first = np.sort(self.l2[:, 0])
        for n in range(1, self.most + 1):
            low, high = float(first[:n].sum()), slope * len(units) + n * max(base, 0.0)
            edges = np.linspace(low, max(high, low), PARTS + 1)
            for part in range(PARTS):
                yield self._cell(n, float(edges[part]) * (1 - ROUNDING), float(edges[part + 1]) * (1 + ROUNDING))

    def _cell(self, number: int, low: float, high: float) -> _Cell:
        latencies = self.asked.latencies
        tables = latencies.types[self.kind]
        who = self.can
        slower = 1 + latencies.sensitivity[who, None] * np.maximum(low - self.l2, 0.0)
        fixed = latencies.scheduling[who] + tables.crowd[min(number, len(tables.crowd) - 1)] * latencies.kernels[who]
        ms = tables.running[who] * slower[:, :, None] + tables.transfer[who][:, None, :] + fixed[:, None, None]
        ms *= 1 - 1e-12  # sums in another order must not end on the other side of a limit
        room = np.full(len(who), self.room)
        worth = self.asked.worth_within(who, ms.swapaxes(0, 1), room).swapaxes(0, 1)
        return _Cell(number, low, high, worth)

    def priced(self, prices: Floats, known: float, *, rounds: int, is_over: IsOver = never_over) -> Priced | None:
        """
        Returns what no set is worth more than at prices, shape (model,); None: there was no time for any bound.

        `known`: what some set is worth; cells that cannot exceed it are not looked at again.
        """
        own = prices[self.can]
        best, sets = max(known, 0.0), list[Chosen]()
        cells = []
        for cell in self._cells():
            if is_over():
                return None
            cells.append(cell)
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

    def _halves(self, cell: _Cell) -> Iterator[_Cell]:
        middle = (cell.low + cell.high) / 2
        lower = _Cell(cell.number, cell.low, middle, cell.worth)
        for half in (lower, self._cell(cell.number, middle, cell.high)):
            half.of_l2, half.of_number, half.of_memory = cell.of_l2, cell.of_number, cell.of_memory
            half.bound = cell.bound
            yield half

    def _step(self, cells: list[_Cell], prices: Floats, target: float) -> list[Chosen]:
        """Bounds every cell at its multipliers, and moves these; returns what the knapsacks chose."""
        batch = np.stack([(one.worth - one.of_memory * self.memory[:, None, :]).argmax(axis=2) for one in cells])
        value = np.empty(batch.shape)
        rows, columns = np.ogrid[: batch.shape[1], : batch.shape[2]]
        for at, one in enumerate(cells):
            used = self.memory[rows, batch[at]]
            value[at] = one.worth[rows, columns, batch[at]] - one.of_memory * used
            value[at] += one.of_l2 * self.l2 + one.of_number - prices[:, None]
        found = []
        for at, (most, chosen) in enumerate(_knapsacks(value)):
            one = cells[at]
            edge = one.low if one.of_l2 >= 0 else one.high
            bound = most + one.of_memory * self.room - one.of_number * one.number - one.of_l2 * edge
            l2 = sum(float(self.l2[i, u]) for i, u in chosen)
            memory = sum(float(self.memory[i, batch[at, i, u]]) for i, u in chosen)
            one.bound = min(one.bound, bound)
            self._move(one, bound - target, l2, len(chosen), memory)
            if chosen:
                found.append(tuple((int(self.can[i]), u + 1) for i, u in chosen))
        return found

    def _move(self, cell: _Cell, above: float, l2: float, number: int, memory: float) -> None:
        """One step of Polyak's, each multiplier counted by how much of its kind there is."""
        off_l2 = min(l2 - cell.low, 0.0) + max(l2 - cell.high, 0.0)
        slope = np.array([off_l2 / USUAL_L2, (number - cell.number) / USUAL_NUMBER, (self.room - memory) / self.room])
        if cell.of_memory == 0.0 and slope[2] > 0:
            slope[2] = 0.0
        size = float(slope @ slope)
        if size < 1e-12 or above <= 0:
            return
        step = SHORTER * above / size
        cell.of_l2 -= step * slope[0] / USUAL_L2
        cell.of_number -= step * slope[1] / USUAL_NUMBER
        cell.of_memory = max(cell.of_memory - step * slope[2] / self.room, 0.0)


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
