"""
The most that any content of a cell is worth at given prices, for many cells at once.

A resident of w is worth q_w h - r_w, with q_w >= 0 a price of a request/s, r_w one of a resident, and h what it
carries; beyond its rate less of q_w counts (`Counted`), but never less than nothing, so that it never falls with h. In
a cell (cells.py) of contents of n_lo <= n <= n_hi residents that ask for lo_c <= T_c <= hi_c in channel c

    h of (w, b, u) is at most what it carries among n_lo residents that ask for lo: latency never falls with either
    sum of d_c over the residents is at most hi_c

so for any l_c a content of the cell is worth at most

    sum_c l_c (hi_c if l_c > 0 else lo_c) + the most of sum (q_w h - r_w - sum_c l_c d_c)

over n_hi residents whose shares fit together, which a dynamic program over units finds (dealing.py): each resident
takes the best (w, b) for its share, and a workload with one replica is there once. Memory and other limits on replicas
are left out, which only raises it. A choice (w, b, u) with which that limit is no more than a known content is worth,
the dynamic program having what is left of the units and of the residents, is left out of the cell and its parts:
contents with it are worth no more than what is known. So is one that is worth nothing in the cell: a content is worth
no less without it, wherever that is. In a cell of one number of residents where few choices are left each of its
contents is looked at (each_content.py), and the best is its limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import Resident
from ...performance.interference.prediction import Floats, Ints
from .cells import Cell, scale_of
from .dealing import Placed, dealt
from .each_content import best_content
from .figures import Choices, Figures
from .gpu_contents import Content

STEPS = 3
"""Of the multipliers of a cell."""

SHORTER = 0.8
"""Factor on each further step."""

ROUNDING = 1e-9
"""Part of a sum by which rounding may lower it."""


@dataclass(frozen=True, eq=False)
class OpenCell:
    """A cell, and what is known of contents of it that are worth more than the best so far."""

    cell: Cell
    choices: Ints
    """Of which they are: indices of all that a resident may be."""
    multipliers: Floats
    """l_c to begin with, shape (channel,)."""
    apart: np.ndarray
    """Shape (workload,): for whom the dynamic program has a stage to begin with."""
    limit: float = np.inf
    totals: Floats | None = None
    """What the relaxed content of the limit asks for, shape (channel,)."""


class CellLimits:
    """Limits of cells at prices, and the contents that were met on the way."""

    def __init__(self, figures: Figures, price: Floats, charge: Floats, best: float = 0.0) -> None:
        """
        Takes the prices of a request/s, not below 0, and of a resident, shape (workload,).

        `best`: what some content is worth.
        """
        self.best = best
        self._figures, self._price, self._charge = figures, price, charge
        self._scale = scale_of(figures)
        self._found: dict[tuple[Resident, ...], tuple[float, Content]] = {}
        every = figures.choices
        alone = figures.carried_among(every, (0.0,) * len(every.demands), 1)
        # Who is worth nothing even alone is worth nothing in any cell.
        value = figures.counted.value(price, every.workload, alone)
        self.hopeful = np.flatnonzero(value - charge[every.workload] > 0)

    def opened(self, cell: Cell) -> OpenCell:
        """Returns a cell of which nothing is known."""
        nobody = np.zeros(len(self._price), dtype=np.bool_)
        return OpenCell(cell, self.hopeful, np.zeros(len(self._scale)), nobody)

    def contents(self) -> list[Content]:
        """Returns the contents that were met, the most valuable first."""
        return [content for _, content in sorted(self._found.values(), key=lambda one: -one[0])]

    def note(self, sets: Sequence[Sequence[Resident]]) -> None:
        """Notes what sets of residents really are, without those who are there too often."""
        once = self._figures.once
        new = []
        for residents in sets:
            own = sorted(residents)
            kept = tuple(
                one
                for i, one in enumerate(own)
                if not (i and once[one.workload] and own[i - 1].workload == one.workload)
            )
            if kept and kept not in self._found:
                new.append(kept)
        new = list(dict.fromkeys(new))
        for residents, content in zip(new, self._figures.contents(new), strict=True):
            if content is not None:
                worth = content.worth(self._figures.counted, self._price, self._charge)
                self._found[residents] = worth, content
                self.best = max(self.best, worth)

    def limited(self, cells: Sequence[OpenCell]) -> list[OpenCell]:
        """Returns cells with their limits, each the least over some multipliers, and notes contents on the way."""
        return [self._looked_at(one, value) for one, value in self._by_multipliers(cells, self._carried(cells), STEPS)]

    def look(self, cells: Sequence[OpenCell], carried: Sequence[Floats], steps: int) -> None:
        """
        Notes the contents that are met where residents carry so much.

        Parameters
        ----------
        carried
            Shape (choice of the cell,) for each cell.
        steps
            Of the multipliers, at most.
        """
        self._by_multipliers(cells, np.concatenate(carried), steps)

    def _carried(self, cells: Sequence[OpenCell]) -> Floats:
        """Returns what each choice of each cell carries at most, one cell after the other."""
        choices = self._figures.choices.of(np.concatenate([one.choices for one in cells]))
        cell = np.repeat(np.arange(len(cells)), [len(one.choices) for one in cells])
        low = np.array([one.cell.low for one in cells]).reshape(len(cells), -1)
        fewest = np.array([one.cell.residents[0] for one in cells])
        return self._figures.carried_among(choices, tuple(low[cell].T), fewest[cell])

    def _by_multipliers(self, cells: Sequence[OpenCell], carried: Floats, steps: int) -> list[tuple[OpenCell, Floats]]:
        """Returns cells with their limits, and what each of their choices is worth in them at most."""
        there = _Cells.of(self._figures, self._price, self._charge, cells, carried)
        low, high = (np.array(ends) for ends in zip(*((one.cell.low, one.cell.high) for one in cells), strict=True))
        at = np.array([one.multipliers for one in cells]).reshape(len(cells), -1)
        least, kept, totals = np.full(len(cells), np.inf), at.copy(), np.zeros_like(at)
        apart = np.array([one.apart for one in cells])
        ways = np.ones(len(there.value), dtype=np.bool_)
        residents = np.array([one.cell.residents[1] for one in cells])
        still = np.arange(len(cells))
        for step in range(steps):
            allowed = np.where(at > 0, at * high, at * low).sum(axis=1)
            some, rows = there.some(still)
            priced = some.priced(at[still])
            dealt_to = dealt(
                some.worth(priced), self._figures.once, residents[still], apart[still],
                self.best / (1 + ROUNDING) - allowed[still],
            )  # fmt: skip
            apart[still] = dealt_to.apart
            limit = (dealt_to.most + allowed[still]) * (1 + ROUNDING)
            rest = self._figures.mps.capacity_units - some.choices.units
            of_each = priced + dealt_to.of_units[some.cell, rest] + allowed[still][some.cell]
            ways[rows] &= of_each * (1 + ROUNDING) > self.best
            chosen = some.chosen(priced, dealt_to.placed)
            asked = some.asked(chosen)
            self.note([some.residents(self._figures, own) for own in chosen])
            lower = limit < least[still]
            better = still[lower]
            least[better], kept[better], totals[better] = limit[lower], at[better], asked[lower]
            # Where more is asked for than the cell has, the price of it rises; where less, it falls.
            here, floor, top = at[still], low[still], high[still]
            over = np.where((here > 0) | ((here == 0) & (asked > top)), asked - top, asked - floor) / self._scale
            over = np.where((here == 0) & (asked >= floor) & (asked <= top), 0.0, over)
            length = (over * over).sum(axis=1)
            go_on = (limit > self.best) & (length > 0)
            towards = np.maximum(limit - self.best, 1e-3 * np.abs(limit)) * SHORTER**step
            to = here + (towards / np.where(length > 0, length, 1.0))[:, None] * over / self._scale
            # Of more than the cell has, or of less, not both.
            at[still] = np.where(go_on[:, None], np.where(here * to < 0, 0.0, to), here)
            still = still[go_on]
            if not len(still):
                break
        return [
            (
                replace(
                    one,
                    choices=there.index[there.of_cell(i)][ways[there.of_cell(i)]],
                    multipliers=kept[i],
                    apart=apart[i],
                    # A part is within the whole, whose limit holds for it too.
                    limit=min(float(least[i]), one.limit),
                    totals=totals[i],
                ),
                there.value[there.of_cell(i)][ways[there.of_cell(i)]],
            )
            for i, one in enumerate(cells)
        ]

    def _looked_at(self, cell: OpenCell, value: Floats) -> OpenCell:
        """Returns a cell with the limit that looking at each of its contents gives, if these are few."""
        fewest, most = cell.cell.residents
        if fewest != most or cell.limit <= self.best:
            return cell
        choices = self._figures.choices.of(cell.choices)
        found = best_content(self._figures, choices, value, self._price, self._charge, cell.cell, self.best)
        if found is None:
            return cell
        self.note([_residents(self._figures, choices, found.chosen)])
        return replace(cell, limit=min(cell.limit, found.most * (1 + ROUNDING)))


@dataclass(frozen=True, eq=False)
class _Cells:
    """The choices of some cells, one cell after the other; arrays have the shape (choice,)."""

    index: Ints
    """Of all that a resident may be."""
    choices: Choices
    cell: Ints
    """The row of its cell."""
    value: Floats
    """What each is worth at the lower end of its cell."""
    cells: int
    workloads: int
    units: int

    @classmethod
    def of(
        cls, figures: Figures, price: Floats, charge: Floats, cells: Sequence[OpenCell], carried: Floats
    ) -> "_Cells":
        """Returns the choices that are worth something in their cells, of those that carry so much there."""
        index = np.concatenate([one.choices for one in cells])
        cell = np.repeat(np.arange(len(cells)), [len(one.choices) for one in cells])
        choices = figures.choices.of(index)
        value = figures.counted.value(price, choices.workload, carried) - charge[choices.workload]
        kept = (carried > 0) & (value > 0)
        return cls(
            index[kept],
            choices.of(kept),
            cell[kept],
            value[kept],
            len(cells),
            len(price),
            figures.mps.capacity_units,
        )

    def of_cell(self, row: int) -> slice:
        """Returns where the choices of a cell are."""
        first, last = np.searchsorted(self.cell, [row, row + 1])
        return slice(int(first), int(last))

    def some(self, cells: Ints) -> tuple["_Cells", Ints]:
        """Returns those of some cells, ascending, and where they are here."""
        row_of = np.full(self.cells, -1)
        row_of[cells] = np.arange(len(cells))
        rows = np.flatnonzero(row_of[self.cell] >= 0)
        if len(cells) == self.cells:
            return self, rows
        own = replace(
            self,
            index=self.index[rows],
            choices=self.choices.of(rows),
            cell=row_of[self.cell[rows]],
            value=self.value[rows],
            cells=len(cells),
        )
        return own, rows

    def priced(self, multipliers: Floats) -> Floats:
        """Returns what each is worth less what it asks for, at multipliers of shape (cell, channel)."""
        value = self.value
        for price, demand in zip(multipliers.T, self.choices.demands, strict=True):
            value = value - price[self.cell] * demand
        return value

    def _key(self, cell: Ints | int, workload: Ints | int, units: Ints | int) -> Ints:
        return np.asarray((cell * self.workloads + workload) * (self.units + 1) + units)

    def worth(self, priced: Floats) -> Floats:
        """Returns the most of any batch size, shape (cell, workload, unit + 1), not below 0."""
        found = np.zeros(self.cells * self.workloads * (self.units + 1))
        key = self._key(self.cell, self.choices.workload, self.choices.units)
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        if len(starts):
            found[key[starts]] = np.maximum(np.maximum.reduceat(priced, starts), 0.0)
        return found.reshape(self.cells, self.workloads, self.units + 1)

    def chosen(self, priced: Floats, placed: Sequence[Placed]) -> list[Ints]:
        """Returns the choices that residents are, each with the batch size that is worth most, for each cell."""
        key = self._key(self.cell, self.choices.workload, self.choices.units)
        found = []
        for row, own in enumerate(placed):
            wanted = np.array([self._key(row, w, u) for w, u in own], dtype=np.int64)
            ends = zip(np.searchsorted(key, wanted), np.searchsorted(key, wanted + 1), strict=True)
            found.append(np.array([first + priced[first:last].argmax() for first, last in ends], dtype=np.int64))
        return found

    def asked(self, chosen: Sequence[Ints]) -> Floats:
        """Returns what choices of each cell ask for together, shape (cell, channel)."""
        demands = np.array(self.choices.demands).reshape(len(self.choices.demands), -1)
        return np.array([demands[:, own].sum(axis=1) for own in chosen])

    def residents(self, figures: Figures, chosen: Ints) -> list[Resident]:
        """Returns the residents that choices are."""
        return _residents(figures, self.choices, chosen.tolist())


def _residents(figures: Figures, choices: Choices, chosen: Sequence[int]) -> list[Resident]:
    return [
        Resident(int(choices.workload[i]), int(choices.batch[i]), figures.mps.percent_of(int(choices.units[i])))
        for i in chosen
    ]
