"""Cells of contents of one GPU under MPS: by the number of their residents, and by what these ask for together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from .figures import Figures

CLASSES = (1, 2, 3, 4, 5, 6, 8, 12, 20)
"""Greatest numbers of residents of the first cells, and all that there may be."""

NARROW = 1e-6
"""Part of what one resident asks for at most: cells that are narrower are not divided."""

EDGE = 0.15
"""Part of a cell that each of its halves has at least."""


@dataclass(frozen=True, order=True)
class Cell:
    """Contents of n residents, n_lo <= n <= n_hi, that ask for lo_c <= T_c <= hi_c in channel c."""

    residents: tuple[int, int]
    low: tuple[float, ...]
    high: tuple[float, ...]


def greatest_demands(figures: Figures) -> Floats:
    """Returns what one resident asks for at most, a number a channel."""
    return np.array([float(own.max(initial=0.0)) for own in figures.choices.demands])


def scale_of(figures: Figures) -> Floats:
    """Returns that, 1 where nobody asks for anything; shape (channel,), above 0."""
    greatest = greatest_demands(figures)
    return np.where(greatest > 0, greatest, 1.0)


def first_cells(figures: Figures) -> list[Cell]:
    """Returns a cell for each class of numbers of residents; all contents are in one of them."""
    units = int(figures.choices.units.min(initial=figures.mps.capacity_units))
    most = max(min(figures.mps.clients, figures.mps.capacity_units // units), 1)
    greatest = greatest_demands(figures).tolist()
    ends = sorted({min(end, most) for end in (*CLASSES, most)})
    return [
        Cell((first, last), (0.0,) * len(greatest), tuple(last * one for one in greatest))
        for first, last in zip([1, *(end + 1 for end in ends)], ends, strict=False)
    ]


def halves(cell: Cell, totals: Sequence[float], scale: Floats) -> tuple[Cell, Cell] | None:
    """
    Divides a cell where a relaxed content is, in the channel that is widest for it; None: it is too narrow.

    Where no channel is wider than what one resident asks for, the number of residents is divided first.

    Parameters
    ----------
    totals
        What the content asks for, a number a channel.
    scale
        As of `scale_of`.
    """
    width = (np.array(cell.high) - np.array(cell.low)) / scale
    channel = int(width.argmax())
    first, last = cell.residents
    if width[channel] <= 1 and first < last:
        middle = (first + last) // 2
        return Cell((first, middle), cell.low, cell.high), Cell((middle + 1, last), cell.low, cell.high)
    if width[channel] < NARROW:
        return None
    low, high = cell.low[channel], cell.high[channel]
    at = min(max(totals[channel], low + EDGE * (high - low)), high - EDGE * (high - low))
    upper = (*cell.high[:channel], at, *cell.high[channel + 1 :])
    lower = (*cell.low[:channel], at, *cell.low[channel + 1 :])
    return Cell(cell.residents, cell.low, upper), Cell(cell.residents, lower, cell.high)
