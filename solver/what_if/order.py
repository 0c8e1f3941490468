"""In which order points are solved: coarse first, so that a curve shows its shape at once and then gets finer."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from ..performance.interference.prediction import Floats

Index = tuple[int, ...]


def coarse_first(sizes: Sequence[int]) -> list[Index]:
    """Returns all indices of a grid, each axis by its ends, then middles of what lies between: its bisection."""
    levels = [_levels(size) for size in sizes]

    def level(index: Index) -> tuple[int, int, Index]:
        own = [levels[axis][i] for axis, i in enumerate(index)]
        return max(own), sum(own), index

    return sorted(product(*map(range, sizes)), key=level)


def _levels(size: int) -> list[int]:
    """Returns in which round of the bisection each number comes; the ends come in round 0."""
    level = [0] * size
    open_ranges = [(0, size - 1)]
    rounds = 1
    while open_ranges:
        halves = []
        for first, last in open_ranges:
            middle = (first + last) // 2
            if first < middle < last:
                level[middle] = rounds
                halves += [(first, middle), (middle, last)]
        open_ranges, rounds = halves, rounds + 1
    return level


class Nearest:
    """Which of the points known so far is nearest to another, by the share of each axis between them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._span = np.maximum(np.array(sizes, dtype=float) - 1, 1)
        self._known: list[Index] = []
        self._at: Floats = np.empty((0, len(sizes)))

    def add(self, index: Index) -> None:
        """Makes a point known."""
        if len(self._known) == len(self._at):
            self._at = np.concatenate([self._at, np.empty((max(len(self._at), 16), self._at.shape[1]))])
        self._at[len(self._known)] = np.array(index) / self._span
        self._known.append(index)

    def to(self, index: Index) -> Index | None:
        """Returns the nearest known point; None: none is known."""
        if not self._known:
            return None
        away = self._at[: len(self._known)] - np.array(index) / self._span
        return self._known[int(np.argmin((away**2).sum(axis=1)))]
