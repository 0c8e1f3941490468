"""
The most that any content of one GPU under MPS is worth at given prices: a limit, and contents that come near it.

A resident of w is worth q_w h - r_w, with q_w >= 0 a price of a request/s, r_w one of a resident, and h what it
carries. Contents are divided by the number n of their residents and by what these ask for together, T_c in channel c
(power and cache in iGniter's model; `MonotoneModel`). In a cell n_lo <= n <= n_hi, lo_c <= T_c <= hi_c

    h of (w, b, u) is at most what it carries among n_lo residents that ask for lo: latency never falls with either
    sum of d_c over the residents is at most hi_c

so for any l_c >= 0 a content of the cell is worth at most

    sum_c l_c hi_c + the most of sum (q_w h - r_w - sum_c l_c d_c) over n_hi residents whose shares fit together

which a dynamic program over units finds (dealing.py): each resident takes the best (w, b) for its share, and a
workload with one replica is there once. Memory and other limits on replicas are left out, which only raises it. Cells
are divided, the one with the greatest limit first, where the best content so far asks for less than the cell allows;
the limit is the greatest of the cells that are left, and of the known contents.
"""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...allocation.allocated import Resident
from ...performance.interference.prediction import Floats
from .dealing import dealt
from .figures import Content, Figures

CLASSES = (1, 2, 3, 4, 5, 6, 8, 12, 20)
"""Greatest numbers of residents of the classes, and all that there may be."""

STEPS = 6
"""Of the multipliers of a cell."""

SHORTER = 0.8
"""Factor on each further step."""

NARROW = 1e-6
"""Part of what one resident asks for at most: cells that are narrower are not divided."""

ROUNDING = 1e-9
"""Part of a sum by which rounding may lower it."""


@dataclass(frozen=True, order=True)
class _Cell:
    """Contents by number and demands, with the limit that is known; the greatest comes first."""

    negative_limit: float
    number: int
    residents: tuple[int, int]
    low: tuple[float, ...]
    high: tuple[float, ...]
    multipliers: tuple[float, ...]
    totals: tuple[float, ...]
    """What the relaxed content of the limit asks for."""


@dataclass(frozen=True)
class ContentLimit:
    """What contents are worth at most, and the contents that were met, the most valuable first."""

    limit: float
    contents: tuple[Content, ...]


@dataclass(eq=False)
class _Search:
    figures: Figures
    price: Floats
    """q, shape (row,)."""
    charge: Floats
    """r, shape (row,)."""
    once: np.ndarray
    """Shape (row,): whether a workload may be there once only."""
    best: float = 0.0
    made: int = 0

    def __post_init__(self) -> None:
        self.scale = np.array([float(own.max(initial=0.0)) or 1.0 for own in self.figures.demands])
        """Of a channel: what one resident asks for at most."""
        self.found: dict[tuple[Resident, ...], tuple[float, Content]] = {}

    def worth(self, content: Content) -> float:
        """Returns what a content is worth at the prices."""
        row = {w: i for i, w in enumerate(self.figures.workload.tolist())}
        return sum(
            float(self.price[row[one.workload]]) * rps - float(self.charge[row[one.workload]])
            for one, rps in zip(content.gpu.residents, content.carried, strict=True)
        )

    def cell(
        self, residents: tuple[int, int], low: Sequence[float], high: Sequence[float], multipliers: Sequence[float]
    ) -> _Cell:
        """Returns a cell with its limit, the least over some multipliers, and notes the contents on the way."""
        carried = self.figures.carried_among(low, residents[0])
        at = np.array(multipliers)
        least, kept, totals = np.inf, at, np.zeros(len(at))
        for step in range(STEPS):
            value, asked = self._most(carried, at, residents[1])
            allowed = float(at @ np.array(high))
            limit = value + allowed + ROUNDING * (value + allowed)
            if limit < least:
                least, kept, totals = limit, at, asked
            # Where more is asked for than the cell has, the price of it rises, else it falls.
            over = (asked - np.array(high)) / self.scale
            over = np.where((at > 0) | (over > 0), over, 0.0)
            length = float(over @ over)
            if not length:
                break
            towards = max(limit - self.best, 1e-3 * abs(limit)) * SHORTER**step
            at = np.maximum(at + towards * over / (length * self.scale), 0.0)
        self.made += 1
        return _Cell(
            -least,
            self.made,
            residents,
            tuple(low),
            tuple(high),
            tuple(kept.tolist()),
            tuple(totals.tolist()),
        )

    def _most(self, carried: Floats, multipliers: Floats, residents: int) -> tuple[float, Floats]:
        """Returns the most of the relaxed contents, and what the best of them asks for; notes it as it really is."""
        figures = self.figures
        value = self.price[:, None, None] * carried - self.charge[:, None, None]
        for price, demand in zip(multipliers, figures.demands, strict=True):
            value = value - price * demand
        value = np.where(carried > 0, value, 0.0)
        choice = value.argmax(axis=1)
        best = np.maximum(value.max(axis=1), 0.0)
        anybody = best[~self.once]
        rows = np.flatnonzero(~self.once)
        of_anybody = np.concatenate([[0.0], anybody.max(axis=0, initial=0.0)])
        found = dealt(of_anybody, np.pad(best[self.once], ((0, 0), (1, 0))), residents)
        placed = [
            (int(rows[anybody[:, units - 1].argmax()]), units) for units in found.anybody if of_anybody[units] > 0
        ]
        placed += [(int(np.flatnonzero(self.once)[row]), units) for row, units in found.once]
        chosen = [(row, int(choice[row, units - 1]), units) for row, units in placed]
        most = found.most
        asked = np.array([sum(float(own[w, b, u - 1]) for w, b, u in chosen) for own in figures.demands])
        self._note([(w, b, u) for w, b, u in chosen])
        return most, asked

    def _note(self, chosen: Sequence[tuple[int, int, int]]) -> None:
        figures = self.figures
        residents = sorted(
            Resident(int(figures.workload[w]), int(figures.batch[w, b]), figures.mps.percent_of(u))
            for w, b, u in chosen
        )
        if tuple(residents) in self.found:
            return
        content = figures.content(residents)
        if content is not None:
            worth = self.worth(content)
            self.found[tuple(residents)] = worth, content
            self.best = max(self.best, worth)


def content_limit(
    figures: Figures, price: Floats, charge: Floats, *, known: float = 0.0, gap: float, cells: int, deadline: float
) -> ContentLimit:
    """
    Returns the most that a content is worth, and contents.

    Parameters
    ----------
    price, charge
        Shape (workload of the problem,): of a request/s, not below 0; of a resident.
    known
        What some content is worth.
    gap
        Part of the limit at which the search ends.
    cells
        Most cells that are looked at.
    """
    rows = figures.workload
    search = _Search(figures, price[rows], charge[rows], figures.once[rows], known)
    if not len(rows):
        return ContentLimit(0.0, ())
    most = min(figures.mps.clients, figures.mps.capacity_units)
    ends = sorted({min(end, most) for end in (*CLASSES, most)})
    greatest = [float(own.max(initial=0.0)) for own in figures.demands]
    nothing = (0.0,) * len(greatest)
    waiting = [
        search.cell((first, last), nothing, [last * one for one in greatest], nothing)
        for first, last in zip([1, *(end + 1 for end in ends)], ends, strict=False)
    ]
    heapq.heapify(waiting)
    while waiting and search.made < cells and time.monotonic() < deadline:
        widest = waiting[0]
        if -widest.negative_limit <= search.best * (1 + gap):
            break
        halves = _halves(widest, search.scale)
        if halves is None:
            break
        heapq.heappop(waiting)
        for low, high in halves:
            cell = search.cell(widest.residents, low, high, widest.multipliers)
            # A part is within the whole, whose limit holds for it too.
            limit = max(cell.negative_limit, widest.negative_limit)
            if -limit > search.best:
                heapq.heappush(
                    waiting,
                    _Cell(limit, cell.number, cell.residents, cell.low, cell.high, cell.multipliers, cell.totals),
                )
    limit = max([search.best, *(-cell.negative_limit for cell in waiting)], default=0.0)
    found = sorted(search.found.values(), key=lambda one: -one[0])
    return ContentLimit(max(limit, 0.0), tuple(content for _, content in found))


def _halves(cell: _Cell, scale: Floats) -> list[tuple[tuple[float, ...], tuple[float, ...]]] | None:
    """Divides a cell where its relaxed content is, in the channel that is widest for it; None: it is too narrow."""
    width = (np.array(cell.high) - np.array(cell.low)) / scale
    channel = int(width.argmax())
    if width[channel] < NARROW:
        return None
    low, high = cell.low[channel], cell.high[channel]
    at = min(max(cell.totals[channel], low + 0.15 * (high - low)), high - 0.15 * (high - low))
    upper = (*cell.high[:channel], at, *cell.high[channel + 1 :])
    lower = (*cell.low[:channel], at, *cell.low[channel + 1 :])
    return [(cell.low, upper), (lower, cell.high)]
