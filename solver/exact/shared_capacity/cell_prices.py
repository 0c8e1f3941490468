"""
Prices of rates and replicas at which GPUs under MPS hold parts of contents, each cell's as its lower end allows.

Every content is in a cell K (cells.py), where a resident (w, b, u) carries h_K(w, b, u) at most and asks for d_c of
channel c, and n_hi residents ask for hi_c together at most. With z_K GPUs and x_K(w, b, u) residents in each cell,
parts allowed,

    max  sum a_w h_K x_K
    s.t. sum_u u x_K <= U z_K,   sum d_c x_K <= hi_c z_K,   sum x_K <= n_hi z_K,   sum_{K of g} z_K <= N_g

with rates and replicas as in prices.py. No plan is worth more, as it is a solution; but what counts here are the
program's prices, of rates, of replicas and, in each cell, of what is asked for: with them content_limit.py begins close
to what contents are really worth. Cells that hold GPUs are divided where they are, and the program is solved again, so
that neighbours slow one another there as much as they do. Of a cell's residents those join the program that are worth
most at its prices, the best of each workload.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array, vstack

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from .asked_rows import AskedRows, PricedColumns
from .cells import Cell, first_cells, halves, scale_of
from .content_limit import PricedCell
from .figures import Choices, Figures
from .prices import MasterPrices

MOST_CELLS = 120
"""Cells after which none is divided."""

ROUNDS = 12
"""Of dividing cells."""

JOINING = 6
"""Programs between two rounds, to each of which residents join."""

WORTH = 1e-7
"""Part of the most that a GPU is worth from which residents join."""

HOLDS = 1e-6
"""GPUs from which a cell is divided."""

FLAT, FLAT_ROUNDS = 1e-3, 4
"""Part of what all plans are worth at most by which so many rounds have to lower it for a further one."""

LEAST_S = 0.01

HALF = 0.5
"""Part of the dearest unit that a unit costs before there is a program."""

UNITS, CHANNELS = 0, slice(2, None)
"""Where they are among what a GPU has."""


@dataclass(frozen=True)
class CellPrices:
    """Prices, and for each GPU type the cells that they were found in, those that hold most GPUs first."""

    prices: MasterPrices
    cells: Mapping[str, tuple[PricedCell, ...]]


@dataclass(eq=False)
class _Open:
    """
    A cell, its residents, and what the last program said of it.

    What a GPU of the cell has goes by `part`: units, then places of residents, then each channel.
    """

    figures: Figures
    cell: Cell
    scale: Floats
    choices: Choices
    """Those that carry something."""
    carried: Floats
    takes: Floats
    """Shape (part, choice): of the units of a GPU, 1 place, of a channel in its scale."""
    has: Floats
    """Shape (part,): what there is on a GPU, in the same units."""
    joined: np.ndarray
    """Shape (choice,): whether it is in the program."""
    price: Floats
    """Shape (part,)."""
    gpus: float = 0.0
    taken: Floats = field(default_factory=lambda: np.zeros(0))
    """Shape (part,): on all of its GPUs."""

    def worth(self, price: Floats, charge: Floats) -> Floats:
        """Returns what each choice is worth at prices and those of the cell."""
        workload = self.choices.workload
        return np.asarray(price[workload] * self.carried - charge[workload] - self.price @ self.takes)


def prices_in_cells(
    resolved: ResolvedProblem,
    figures: Sequence[Figures],
    weights: Floats,
    gpus: Mapping[str, int],
    start: MasterPrices,
    *,
    deadline: float,
) -> CellPrices:
    """
    Returns the prices of the program over ever smaller cells.

    Parameters
    ----------
    weights
        Shape (workload,): what a request/s counts, above 0.
    gpus
        GPU type -> how many there are.
    start
        Prices at which the first residents are chosen.
    """
    rows = AskedRows.of(resolved)
    found, cells = start, [_open(one, cell) for one in figures for cell in first_cells(one)]
    most = 0.0
    for one in cells:
        of_units = float((weights[one.choices.workload] * one.carried / one.takes[UNITS]).max(initial=0.0))
        one.price[UNITS] = HALF * of_units
        most = max(most, of_units)
    if not most:
        return CellPrices(found, {})
    limits: list[float] = []
    for _ in range(ROUNDS):
        _join(cells, weights, found, most)
        for _ in range(JOINING):
            answer = _solved(cells, rows, weights, gpus, most, deadline)
            if answer is None:
                return CellPrices(found, _by_type(cells))
            _note(cells, answer)
            found, limit = answer.prices, answer.value
            if not _join(cells, weights, found, most) or time.monotonic() >= deadline:
                break
        limits.append(limit)
        is_flat = len(limits) > FLAT_ROUNDS and limits[-1 - FLAT_ROUNDS] - limits[-1] <= FLAT * abs(limits[-1])
        if is_flat or time.monotonic() >= deadline or len(cells) >= MOST_CELLS:
            break
        cells = [part for one in cells for part in _divided(one)]
    return CellPrices(found, _by_type(cells))


def _open(figures: Figures, cell: Cell, of: _Open | None = None) -> _Open:
    """Returns a cell; `of`: one that it is a part of, whose residents and prices it takes over."""
    every = figures.choices if of is None else of.choices
    carried = figures.carried_among(every, cell.low, cell.residents[0])
    kept = carried > 0
    choices, scale = every.of(kept), scale_of(figures)
    takes = [choices.units / figures.mps.capacity_units, np.ones(len(choices))]
    takes += [own / one for own, one in zip(choices.demands, scale.tolist(), strict=True)]
    has = np.concatenate([[1.0, cell.residents[1]], np.array(cell.high) / scale])
    joined = np.zeros(len(choices), dtype=np.bool_) if of is None else of.joined[kept]
    price = np.zeros(len(has)) if of is None else of.price
    return _Open(figures, cell, scale, choices, carried[kept], np.array(takes), has, joined, price)


def _join(cells: Sequence[_Open], weights: Floats, prices: MasterPrices, most: float) -> int:
    """Lets the best residents of each workload join in each cell, and returns how many did."""
    price, charge = prices.of(weights)
    number = 0
    for one in cells:
        if not len(one.choices):
            continue
        worth = one.worth(price, charge)
        first = np.flatnonzero(np.diff(one.choices.workload, prepend=-1))
        best = np.maximum.reduceat(worth, first)
        of_each = np.repeat(best, np.diff(np.append(first, len(worth))))
        new = (worth >= of_each) & (worth > WORTH * most) & ~one.joined
        one.joined |= new
        number += int(new.sum())
    return number


def _divided(one: _Open) -> list[_Open]:
    """Returns a cell that holds GPUs in two parts; any other as it is."""
    if one.gpus <= HOLDS:
        return [one]
    totals = one.taken[CHANNELS] * one.scale / one.gpus
    parts = halves(one.cell, totals.tolist(), one.scale)
    return [one] if parts is None else [_open(one.figures, part, one) for part in parts]


def _solved(
    cells: Sequence[_Open], rows: AskedRows, weights: Floats, gpus: Mapping[str, int], most: float, deadline: float
) -> PricedColumns | None:
    """Solves the program, whose columns are the residents of each cell and then its GPUs; None: there was no time."""
    workload = np.concatenate([one.choices.workload[one.joined] for one in cells])
    carried = np.concatenate([one.carried[one.joined] for one in cells])
    resident, columns = np.arange(len(workload)), len(workload) + len(cells)
    names = sorted(gpus)
    of_type = np.array([names.index(one.figures.mps.gpu) for one in cells])
    counts = coo_array((np.ones(len(cells)), (of_type, np.arange(len(workload), columns))), (len(names), columns))
    within = _within(cells)
    return rows.best(
        np.concatenate([weights[workload] * carried, np.zeros(len(cells))]),
        rows.matrix(workload, resident, carried, np.ones(len(workload)), columns),
        vstack([*within, counts]),
        np.concatenate([np.zeros(len(within) * len(cells)), [float(gpus[name]) for name in names]]),
        unit=most,
        method="highs",
        time_limit_s=max(deadline - time.monotonic(), LEAST_S),
    )


def _within(cells: Sequence[_Open]) -> list[coo_array]:
    """Returns rows for each part of what GPUs have, a row a cell: its residents take no more than is there."""
    of_cell = np.repeat(np.arange(len(cells)), [int(one.joined.sum()) for one in cells])
    takes = np.concatenate([one.takes[:, one.joined] for one in cells], axis=1)
    has = np.array([one.has for one in cells]).T
    place = np.append(of_cell, np.arange(len(cells))), np.arange(len(of_cell) + len(cells))
    shape = len(cells), len(of_cell) + len(cells)
    return [coo_array((np.append(own, -there), place), shape) for own, there in zip(takes, has, strict=True)]


def _note(cells: Sequence[_Open], found: PricedColumns) -> None:
    """Notes in each cell what the program says of it."""
    parts = len(cells[0].has)
    price = found.dual[: parts * len(cells)].reshape(parts, len(cells))
    *of_cells, gpus = np.split(found.columns, np.cumsum([int(one.joined.sum()) for one in cells]))
    for k, (one, x) in enumerate(zip(cells, of_cells, strict=True)):
        one.price, one.gpus, one.taken = price[:, k], float(gpus[k]), one.takes[:, one.joined] @ x


def _by_type(cells: Sequence[_Open]) -> dict[str, tuple[PricedCell, ...]]:
    found: dict[str, tuple[PricedCell, ...]] = {}
    for one in sorted(cells, key=lambda one: -one.gpus):
        own = PricedCell(one.cell, tuple((one.price[CHANNELS] / one.scale).tolist()))
        found[one.figures.mps.gpu] = (*found.get(one.figures.mps.gpu, ()), own)
    return found
