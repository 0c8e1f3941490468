"""
Cells of contents of GPUs of a type, and what services may be in them, as arrays: many cells at once.

Every content is in some cell, by the number of its residents and by what they ask for together in each channel
(../cells.py). In a cell each resident is no slower, and carries no less, than among as few residents as there may be
that ask for as little as they may.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ..cells import greatest_demands
from ..figures import Figures
from .alike import Alike, alike_services

RESIDENTS = (1, 2, 3, 4, 5, 6, 8, 12)
"""Greatest numbers of residents of the first cells, and all that there may be."""

EDGES = (0.75, 1.0)
"""Ends of the first cells, in parts of what one resident asks for at most, and all that there may be."""

NARROW = 0.01
"""Part of what one resident asks for at most; narrower cells are not divided."""

AT_ONCE = 64
"""Cells that are looked at at once."""

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Cells:
    """Arrays of shape (cell,), or (cell, channel)."""

    fewest: Ints
    most: Ints
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.fewest)


@dataclass(frozen=True, eq=False)
class Entries:
    """What services that are alike may be in the cells of a type, cell by cell; arrays have the shape (entry,)."""

    cell: Ints
    choice: Ints
    units: Ints
    demands: Floats
    """Shape (entry, channel)."""
    latency_ms: Floats
    """At least."""
    carried_rps: Floats
    """At most."""
    late: Ints
    """The first latency limit that it keeps."""
    rates: Ints
    """How many rates it carries."""

    def asked(self, rows: Ints) -> Floats:
        """Returns what some take of a GPU: units, a resident, and of each channel; shape (entry, resource)."""
        return np.concatenate([self.units[rows, None], np.ones((len(rows), 1)), self.demands[rows]], axis=1)

    def cost(self, prices: Floats) -> Floats:
        """Returns what each takes at prices of resources, shape (cell, resource)."""
        found = prices[self.cell, 0] * self.units + prices[self.cell, 1]
        for c, own in enumerate(self.demands.T):
            found += prices[self.cell, 2 + c] * own
        return np.asarray(found)

    def of(self, alike: Alike, member: int, *, once: bool) -> Ints:
        """Returns what a service may be, ascending."""
        there = self.latency_ms <= alike.limit_ms[member]
        if once:
            there &= self.carried_rps >= alike.rate_rps[member]
        return np.flatnonzero(there)


class SharedCells:
    """The cells of a GPU type under MPS."""

    def __init__(self, figures: Figures, weights: Floats) -> None:
        """Begins with the first cells; `weights`, shape (workload,): what a request/s counts."""
        self.figures = figures
        self.alike: list[Alike] = list(alike_services(figures, weights))
        self.take(first_cells(figures))

    def take(self, cells: Cells) -> None:
        """Takes other cells, which together hold every content."""
        self.cells = cells
        self.entries = [_entries(self.figures, one, cells) for one in self.alike]

    @property
    def has(self) -> Floats:
        """What a GPU of each cell has of each resource at most, shape (cell, resource)."""
        cells = self.cells
        units = np.full(len(cells), float(self.figures.mps.capacity_units))
        return np.concatenate([units[:, None], cells.most[:, None].astype(np.float64), cells.high], axis=1)

    def parts(self, some: Sequence[int]) -> tuple[Cells, Ints]:
        """Returns the cells with some of them divided, and which each was."""
        cells, scale = self.cells, greatest_demands(self.figures)
        divided = set(some)
        fewest, most, low, high, was = [], [], [], [], []
        for k in range(len(cells)):
            first, last = int(cells.fewest[k]), int(cells.most[k])
            own = [(first, last)]
            ends = [(lo, hi) for lo, hi in zip(cells.low[k].tolist(), cells.high[k].tolist(), strict=True)]
            sides: list[list[tuple[float, float]]] = [[one] for one in ends]
            if k in divided:
                if first < last:
                    own = [(first, (first + last) // 2), ((first + last) // 2 + 1, last)]
                # Alone a resident meets itself, whatever the cell.
                narrow = NARROW * scale if last > 1 else np.full(len(scale), np.inf)
                sides = [
                    [(lo, hi)] if hi - lo <= least else [(lo, _middle(lo, hi, most_)), (_middle(lo, hi, most_), hi)]
                    for (lo, hi), least, most_ in zip(ends, narrow.tolist(), scale.tolist(), strict=True)
                ]
            for number, *side in product(own, *sides):
                fewest.append(int(number[0]))
                most.append(int(number[1]))
                low.append([lo for lo, _ in side])
                high.append([hi for _, hi in side])
                was.append(k)
        return _possible(self.figures, fewest, most, low, high, was)


def _middle(low: float, high: float, scale: float) -> float:
    """Returns where a cell is divided: wide ones near their lower end, where contents are."""
    return low + min((high - low) / 2, scale / 4)


def first_cells(figures: Figures) -> Cells:
    """Returns the cells to begin with."""
    units = int(figures.choices.units.min(initial=figures.mps.capacity_units))
    greatest = max(min(figures.mps.clients, figures.mps.capacity_units // units), 1)
    scale = greatest_demands(figures)
    numbers = sorted({min(end, greatest) for end in (*RESIDENTS, greatest)})
    fewest: list[int] = []
    most: list[int] = []
    low: list[list[float]] = []
    high: list[list[float]] = []
    for first, last in zip([1, *(end + 1 for end in numbers)], numbers, strict=False):
        ends = [0.0, *EDGES, float(last)] if last > 1 else [0.0, 1.0]
        for side in product(pairwise(ends), repeat=len(scale)):
            if all(lo < hi for lo, hi in side):
                fewest.append(first)
                most.append(last)
                low.append([lo * one for (lo, _), one in zip(side, scale.tolist(), strict=True)])
                high.append([hi * one for (_, hi), one in zip(side, scale.tolist(), strict=True)])
    cells, _ = _possible(figures, fewest, most, low, high, list(range(len(fewest))))
    return cells


def _possible(
    figures: Figures,
    fewest: Sequence[int],
    most: Sequence[int],
    low: Sequence[Sequence[float]],
    high: Sequence[Sequence[float]],
    was: Sequence[int],
) -> tuple[Cells, Ints]:
    """Returns the cells that may hold a content, and which each was: no resident asks for less than the least."""
    channels = len(figures.choices.demands)
    lows, highs = (np.array(own, dtype=np.float64).reshape(len(was), channels) for own in (low, high))
    first = np.array(fewest, dtype=np.int64)
    least, scale = np.array(figures.least_demands), greatest_demands(figures)
    last = np.array(most, dtype=np.int64)
    there = (first[:, None] * least <= highs * (1 + ROUNDING)).all(axis=1)
    there &= (lows <= last[:, None] * scale * (1 + ROUNDING)).all(axis=1)
    return Cells(first[there], last[there], lows[there], highs[there]), np.array(was, dtype=np.int64)[there]


def _entries(figures: Figures, alike: Alike, cells: Cells) -> Entries:
    """Returns what some services may be in each cell, but for what none of them may be or need be."""
    mps, choices = figures.mps, alike.choices
    least = figures.least_demands
    once = figures.once[alike.members]
    slowest = alike.limits_ms[-1]
    little = alike.rates_rps[0] if once.all() else 0.0
    found = []
    for at in range(0, len(cells), AT_ONCE):
        some = slice(at, at + AT_ONCE)
        others = cells.fewest[some, None] - 1
        # All together ask for no less than each does itself, and every other at least.
        asked = [
            np.maximum(cells.low[some, c, None], own + others * one)
            for c, (own, one) in enumerate(zip(choices.demands, least, strict=True))
        ]
        latency, carried = mps.model.among(
            choices.workload, choices.batch, mps.percent(choices.units), totals=tuple(asked), residents=others + 1
        )
        latency, carried = np.broadcast_to(latency, carried.shape), np.asarray(carried)
        there = (choices.units <= mps.capacity_units - others * mps.least_units) & (latency <= slowest)
        there &= (carried >= little) & (carried > 0)
        for c, (own, one) in enumerate(zip(choices.demands, least, strict=True)):
            there &= own + others * one <= cells.high[some, c, None] * (1 + ROUNDING)
        k, i = np.nonzero(there)
        found.append((k + at, i, latency[k, i], carried[k, i]))
    cell, choice, latency, carried = (np.concatenate(own) for own in zip(*found, strict=True))
    late, rates = alike.bins(latency, carried)
    demands = np.stack([own[choice] for own in choices.demands], axis=1)
    return Entries(cell, choice, choices.units[choice], demands, latency, carried, late, rates)
