"""
Contents that are worth more at given prices, near contents that are known: no limit, but in a small part of the time.

A known content has n residents that ask for T together. Were that so of another content as well, each of its residents
would carry what it does among n that ask for T, and the best shares would be found by a dynamic program (dealing.py).
So a cell of contents that ask for about that much is dealt as any other (cell_limits.py), and what is met on the way,
as it really is, are contents near the known one. What residents carry there does not depend on prices: it is kept for
totals on a grid, of the few batch sizes that carry most on each share.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import inf

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...performance.interference.prediction import Floats, Ints
from .cell_limits import CellLimits, OpenCell
from .cells import Cell
from .figures import Figures
from .gpu_contents import Content

STEP = 1.04
"""From one total of the grid to the next one."""

CROWDS = (1, 2, 3, 5, 8, 12, 20)
"""Residents, each of whom asks for the mean: batch sizes that do not carry most among any of these are left out."""

ELSEWHERE = 6
"""Points that were looked at before and are again, at random: what is worth most may lie far from what is known."""

FIRST, AROUND = 6, 6
"""Points, the first ones, of which others are neighbours, and so many of these, at random."""

STEPS = 3
"""Of the multipliers of a point."""

BATCHES = 2
"""Batch sizes that are tried for each workload and share."""

Point = tuple[int, ...]
"""A number of residents, and steps of the grid for each channel."""


class NearContents:
    """What residents of GPUs of a type carry near contents that were looked at."""

    def __init__(self, figures: Figures) -> None:
        """Begins with no totals; `figures`: of the GPU type."""
        self._figures = figures
        mean = [float(own.mean()) if len(own) else 0.0 for own in figures.choices.demands]
        every = np.arange(len(figures.choices))
        best = [self._best(every, tuple(number * one for one in mean), number)[0] for number in CROWDS]
        self._draw = random.Random(0)
        self._hopeful = np.unique(np.concatenate(best))
        self._there: dict[Point, tuple[Ints, Floats, Cell]] = {}
        self._points_of: dict[AllocatedGpu, list[Point]] = {}

    def found(self, price: Floats, charge: Floats, known: Iterable[Content], number: float = inf) -> list[Content]:
        """
        Returns contents near known ones, the most valuable first.

        Parameters
        ----------
        price, charge
            Shape (workload of the problem,): of a request/s, not below 0; of a resident.
        known
            The most important ones first.
        number
            How many of them, of those that have points which the ones before have not.
        """
        limits = CellLimits(self._figures, price, charge)
        nobody = np.zeros(len(price), dtype=np.bool_)
        points = self._first_points(known, number)
        around = [point for point in _neighbours(list(points)[:FIRST]) if point not in points]
        points |= dict.fromkeys(self._draw.sample(around, min(AROUND, len(around))))
        before = [point for point in self._there if point not in points]
        points |= dict.fromkeys(self._draw.sample(before, min(ELSEWHERE, len(before))))
        cells, carried = [], []
        for point in points:
            choices, own, cell = self._at(point)
            cells.append(OpenCell(cell, choices, np.zeros(len(cell.low)), nobody))
            carried.append(own)
        if cells:
            limits.look(cells, carried, STEPS)
        return limits.contents()

    def _first_points(self, known: Iterable[Content], number: float) -> dict[Point, None]:
        """Returns the points of so many of some contents, those that share theirs with ones before not counted."""
        points: dict[Point, None] = {}
        for content in known:
            if number <= 0:
                break
            if content.gpu not in self._points_of:
                self._points_of[content.gpu] = self._points(content)
            before = len(points)
            points |= dict.fromkeys(self._points_of[content.gpu])
            number -= len(points) > before
        return points

    def _points(self, content: Content) -> list[Point]:
        """Returns where contents may be looked for: as many residents, or one more, that ask for no less together."""
        asked = self._figures.asked(content)
        steps = tuple(np.ceil(np.log(np.maximum(asked, 1e-9)) / np.log(STEP)).astype(int).tolist())
        number = len(content.gpu.workloads)
        return [(n, *steps) for n in (number, number + 1) if n <= self._figures.mps.clients]

    def _at(self, point: Point) -> tuple[Ints, Floats, Cell]:
        """Returns the choices that carry something among so many who ask for so much, what they carry, and the cell."""
        if point not in self._there:
            number, *steps = point
            totals = tuple(STEP**step for step in steps)
            self._there[point] = *self._best(self._hopeful, totals, number), Cell((number, number), totals, totals)
        return self._there[point]

    def _best(self, some: Ints, totals: tuple[float, ...], number: int) -> tuple[Ints, Floats]:
        """Returns those of some choices that carry most on each share among so many, ascending, and what they carry."""
        choices = self._figures.choices.of(some)
        carried = self._figures.carried_among(choices, totals, number)
        order = np.lexsort((-carried, choices.units, choices.workload))
        number_of_each = np.diff(np.append(choices.starts, len(choices)))
        rank = np.arange(len(choices)) - np.repeat(choices.starts, number_of_each)
        kept = np.sort(order[(rank < BATCHES) & (carried[order] > 0)])
        return some[kept], carried[kept]


def _neighbours(points: Sequence[Point]) -> Iterator[Point]:
    """Yields the points that are a step away in some channels, all up or all down."""
    for number, *steps in points:
        for by, *some in product((1, -1), *[(0, 1)] * len(steps)):
            if any(some):
                yield (number, *(step + by * own for step, own in zip(steps, some, strict=True)))
