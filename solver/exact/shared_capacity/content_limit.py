"""
The most that any content of one GPU under MPS is worth at given prices: a limit, and contents that come near it.

A resident of w is worth q_w h - r_w, with q_w >= 0 a price of a request/s, r_w one of a resident, and h what it
carries. Contents are divided by the number n of their residents and by what these ask for together, T_c in channel c
(power and cache in iGniter's model; `MonotoneModel`). In a cell n_lo <= n <= n_hi, lo_c <= T_c <= hi_c

    h of (w, b, u) is at most what it carries among n_lo residents that ask for lo: latency never falls with either
    sum of d_c over the residents is at most hi_c

so for any l_c a content of the cell is worth at most

    sum_c l_c (hi_c if l_c > 0 else lo_c) + the most of sum (q_w h - r_w - sum_c l_c d_c)

over n_hi residents whose shares fit together, which a dynamic program over units finds (dealing.py): each resident
takes the best (w, b) for its share, and a workload with one replica is there once. Memory and other limits on replicas
are left out, which only raises it. A choice (w, b, u) with which that limit is no more than a known content is worth,
the dynamic program having what is left of the units, is left out of the cell and its parts: contents with it are worth
no more than what is known. So is one that is worth nothing in the cell: a content is worth no less without it, wherever
that is. Cells are divided, the one with the greatest limit first, where the best content so far asks for less than the
cell allows; the limit is the greatest of the cells that are left, and of the known contents. Where few choices are left
in a cell of one number of residents, each of its contents is looked at (each_content.py), and the best is its limit.
"""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import Resident
from ...performance.interference.prediction import Floats
from .cells import Cell, first_cells, halves, scale_of
from .dealing import dealt
from .each_content import best_content
from .figures import Choices, Content, Figures

STEPS = 6
"""Of the multipliers of a cell."""

SHORTER = 0.8
"""Factor on each further step."""

ROUNDING = 1e-9
"""Part of a sum by which rounding may lower it."""


@dataclass(frozen=True)
class PricedCell:
    """A cell, and multipliers l_c to begin with."""

    cell: Cell
    multipliers: tuple[float, ...]


@dataclass(frozen=True, order=True)
class _Limited:
    """A cell with the limit that is known; the greatest comes first."""

    negative_limit: float
    number: int
    cell: Cell
    multipliers: tuple[float, ...]
    totals: tuple[float, ...]
    """What the relaxed content of the limit asks for."""
    choices: Choices
    """Of its contents that are worth more than the best so far."""


@dataclass(frozen=True)
class ContentLimit:
    """What contents are worth at most, and the contents that were met, the most valuable first."""

    limit: float
    contents: tuple[Content, ...]


@dataclass(eq=False)
class _Search:
    figures: Figures
    price: Floats
    """q, shape (workload,)."""
    charge: Floats
    """r, shape (workload,)."""
    best: float = 0.0
    made: int = 0

    def __post_init__(self) -> None:
        figures = self.figures
        alone = figures.carried_among(figures.choices, (0.0,) * len(figures.choices.demands), 1)
        # Who is worth nothing even alone is worth nothing in any cell.
        of_all = figures.choices.workload
        self.choices = figures.choices.of(self.price[of_all] * alone - self.charge[of_all] > 0)
        self.scale = scale_of(figures)
        self.found: dict[tuple[Resident, ...], tuple[float, Content]] = {}

    def worth(self, content: Content) -> float:
        """Returns what a content is worth at the prices."""
        return sum(
            float(self.price[one.workload]) * rps - float(self.charge[one.workload])
            for one, rps in zip(content.gpu.residents, content.carried, strict=True)
        )

    def limited(self, cell: Cell, multipliers: Sequence[float], choices: Choices) -> _Limited:
        """Returns a cell with its limit, the least over some multipliers, and notes the contents on the way."""
        low, high = np.array(cell.low), np.array(cell.high)
        carried = self.figures.carried_among(choices, cell.low, cell.residents[0])
        workload = choices.workload
        value = np.where(carried > 0, self.price[workload] * carried - self.charge[workload], 0.0)
        value = np.where(value > 0, value, -np.inf)
        at = np.array(multipliers)
        least, kept, totals, ways = np.inf, at, np.zeros(len(at)), value > 0
        for step in range(STEPS):
            most, asked, of_each = self._most(choices, value, at, cell.residents[1])
            allowed = float(np.where(at > 0, at * high, at * low).sum())
            limit = (most + allowed) * (1 + ROUNDING)
            ways &= (of_each + allowed) * (1 + ROUNDING) > self.best
            if limit < least:
                least, kept, totals = limit, at, asked
            if limit <= self.best:
                break
            # Where more is asked for than the cell has, the price of it rises; where less, it falls.
            over = np.where((at > 0) | ((at == 0) & (asked > high)), asked - high, asked - low) / self.scale
            over = np.where((at == 0) & (asked >= low) & (asked <= high), 0.0, over)
            length = float(over @ over)
            if not length:
                break
            towards = max(limit - self.best, 1e-3 * abs(limit)) * SHORTER**step
            to = at + towards * over / (length * self.scale)
            at = np.where(at * to < 0, 0.0, to)  # of more than the cell has, or of less, not both
        self.made += 1
        left = choices.of(ways)
        if cell.residents[0] == cell.residents[1] and least > self.best:
            found = best_content(self.figures, left, value[ways], self.price, self.charge, cell, self.best)
            if found is not None:
                least = min(least, found.most * (1 + ROUNDING))
                self._note(left, found.chosen)
        return _Limited(-least, self.made, cell, tuple(kept.tolist()), tuple(totals.tolist()), left)

    def _most(
        self, choices: Choices, value: Floats, multipliers: Floats, residents: int
    ) -> tuple[float, Floats, Floats]:
        """
        Returns the most of the relaxed contents, what the best of them asks for, and the most with each choice.

        The best one is noted as it really is.
        """
        units = self.figures.mps.capacity_units
        for price, demand in zip(multipliers, choices.demands, strict=True):
            if price:
                value = value - price * demand
        worth, starts = np.zeros((len(self.price), units + 1)), choices.starts
        if len(starts):
            of_share = np.maximum(np.maximum.reduceat(value, starts), 0.0)
            worth[choices.workload[starts], choices.units[starts]] = of_share
        once = self.figures.once
        anybody, own = np.flatnonzero(~once), np.flatnonzero(once)
        of_anybody = worth[anybody].max(axis=0, initial=0.0)
        found = dealt(of_anybody, worth[own], residents)
        placed = [
            (int(anybody[worth[anybody, share].argmax()]), share) for share in found.anybody if of_anybody[share] > 0
        ]
        placed += [(int(own[row]), share) for row, share in found.once]
        chosen = [_choice(choices, value, workload, share) for workload, share in placed]
        asked = np.array([float(own[chosen].sum()) for own in choices.demands])
        self._note(choices, chosen)
        return found.most, asked, value + found.of_units[units - choices.units]

    def _note(self, choices: Choices, chosen: Sequence[int]) -> None:
        figures = self.figures
        residents = sorted(
            Resident(int(choices.workload[i]), int(choices.batch[i]), figures.mps.percent_of(int(choices.units[i])))
            for i in chosen
        )
        if tuple(residents) in self.found:
            return
        content = figures.content(residents)
        if content is not None:
            worth = self.worth(content)
            self.found[tuple(residents)] = worth, content
            self.best = max(self.best, worth)


def content_limit(
    figures: Figures,
    price: Floats,
    charge: Floats,
    *,
    known: float = 0.0,
    within: Sequence[PricedCell] = (),
    gap: float,
    cells: int,
    deadline: float,
) -> ContentLimit:
    """
    Returns the most that a content is worth, and contents.

    Parameters
    ----------
    price, charge
        Shape (workload of the problem,): of a request/s, not below 0; of a resident.
    known
        What some content is worth.
    within
        Cells to begin with, in one of which every content is, those first where much is carried; none: `first_cells`.
    gap
        Part of the limit at which the search ends.
    cells
        Most cells that are looked at, beyond those to begin with.
    """
    search = _Search(figures, price, charge, known)
    if not len(search.choices):
        return ContentLimit(search.best, ())
    nothing = (0.0,) * len(search.scale)
    begun = within or [PricedCell(cell, nothing) for cell in first_cells(figures)]
    waiting = [search.limited(one.cell, one.multipliers, search.choices) for one in begun]
    heapq.heapify(waiting)
    while waiting and search.made < cells + len(begun) and time.monotonic() < deadline:
        widest = waiting[0]
        if -widest.negative_limit <= search.best * (1 + gap):
            break
        parts = halves(widest.cell, widest.totals, search.scale)
        if parts is None:
            break
        heapq.heappop(waiting)
        for part in parts:
            limited = search.limited(part, widest.multipliers, widest.choices)
            # A part is within the whole, whose limit holds for it too.
            limit = max(limited.negative_limit, widest.negative_limit)
            if -limit > search.best:
                heapq.heappush(waiting, replace(limited, negative_limit=limit))
    limit = max([search.best, *(-one.negative_limit for one in waiting)], default=0.0)
    found = sorted(search.found.values(), key=lambda one: -one[0])
    return ContentLimit(max(limit, 0.0), tuple(content for _, content in found))


def _choice(choices: Choices, value: Floats, workload: int, units: int) -> int:
    """Returns the batch size with which a workload is worth most on a share, as an index of choices."""
    first, last = np.searchsorted(choices.workload, [workload, workload + 1])
    first, last = first + np.searchsorted(choices.units[first:last], [units, units + 1])
    return int(first + value[first:last].argmax())
