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
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack

from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from .asked_rows import DEAR, AskedRows
from .cells import Cell, first_cells, greatest_demands, halves
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


@dataclass(frozen=True)
class CellPrices:
    """Prices, and for each GPU type the cells that they were found in, those that hold most GPUs first."""

    prices: MasterPrices
    cells: Mapping[str, tuple[PricedCell, ...]]


@dataclass(eq=False)
class _Open:
    """A cell, the residents of it that are in the program, and what the last program said of it."""

    figures: Figures
    cell: Cell
    scale: Floats
    choices: Choices
    """Those that carry something."""
    carried: Floats
    taken: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Choices in the program."""
    of_unit: float = 0.0
    of_demand: Floats = field(default_factory=lambda: np.zeros(0))
    of_resident: float = 0.0
    gpus: float = 0.0
    totals: tuple[float, ...] = ()
    """What is asked for on one of its GPUs."""

    def worth(self, price: Floats, charge: Floats) -> Floats:
        """Returns what each choice is worth at prices and those of the cell."""
        own, workload = self.choices, self.choices.workload
        worth = price[workload] * self.carried - charge[workload] - self.of_unit * own.units - self.of_resident
        for of_one, demand in zip(self.of_demand, own.demands, strict=True):
            worth = worth - of_one * demand
        return np.asarray(worth, dtype=np.float64)


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
        of_unit = float((weights[one.choices.workload] * one.carried / one.choices.units).max(initial=0.0))
        one.of_unit = HALF * of_unit
        most = max(most, of_unit * one.figures.mps.capacity_units)
    if not most:
        return CellPrices(found, {})
    limits: list[float] = []
    for _ in range(ROUNDS):
        _join(cells, weights, found, most)
        for _ in range(JOINING):
            answer = _solved(cells, rows, weights, gpus, most, deadline)
            if answer is None:
                return CellPrices(found, _by_type(cells))
            found, limit = answer
            if not _join(cells, weights, found, most) or time.monotonic() >= deadline:
                break
        limits.append(limit)
        is_flat = len(limits) > FLAT_ROUNDS and limits[-1 - FLAT_ROUNDS] - limits[-1] <= FLAT * abs(limits[-1])
        if is_flat or time.monotonic() >= deadline or len(cells) >= MOST_CELLS:
            break
        cells = [part for one in cells for part in _divided(one)]
    return CellPrices(found, _by_type(cells))


def _open(figures: Figures, cell: Cell, choices: Choices | None = None) -> _Open:
    every = figures.choices if choices is None else choices
    carried = figures.carried_among(every, cell.low, cell.residents[0])
    greatest = greatest_demands(figures)
    scale = np.where(greatest > 0, greatest, 1.0)
    kept = carried > 0
    return _Open(figures, cell, scale, every.of(kept), carried[kept], of_demand=np.zeros(len(scale)))


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
        new = np.setdiff1d(np.flatnonzero((worth >= of_each) & (worth > WORTH * most)), one.taken)
        one.taken = np.concatenate([one.taken, new])
        number += len(new)
    return number


def _divided(one: _Open) -> list[_Open]:
    """Returns a cell that holds GPUs in two parts, with its residents in the program; any other as it is."""
    parts = halves(one.cell, one.totals, one.scale) if one.gpus > HOLDS else None
    if parts is None:
        return [one]
    found = [_open(one.figures, part, one.choices) for part in parts]
    taken = np.zeros(len(one.choices), dtype=np.bool_)
    taken[one.taken] = True
    for part in found:
        still = part.figures.carried_among(one.choices, part.cell.low, part.cell.residents[0]) > 0
        part.taken = np.flatnonzero(taken[still])
        part.of_unit, part.of_demand, part.of_resident = one.of_unit, one.of_demand, one.of_resident
    return found


def _solved(
    cells: Sequence[_Open], rows: AskedRows, weights: Floats, gpus: Mapping[str, int], most: float, deadline: float
) -> tuple[MasterPrices, float] | None:
    """Solves the program, notes what it says of each cell, and returns prices and value; None: there was no time."""
    of_cell = np.repeat(np.arange(len(cells)), [len(one.taken) for one in cells])
    number, columns, n = len(of_cell), len(of_cell) + len(cells), len(weights)
    workload = np.concatenate([one.choices.workload[one.taken] for one in cells])
    carried = np.concatenate([one.carried[one.taken] for one in cells])
    units = np.concatenate([one.choices.units[one.taken] / one.figures.mps.capacity_units for one in cells])
    channels = len(cells[0].scale)
    demands = np.concatenate(
        [np.array([own[one.taken] for own in one.choices.demands]) / one.scale[:, None] for one in cells], axis=1
    )
    high = np.array([np.array(one.cell.high) / one.scale for one in cells])
    residents = np.array([float(one.cell.residents[1]) for one in cells])
    resident, cell = np.arange(number), np.arange(len(cells))
    shape = (len(cells), columns)

    def within(taken: Floats, there: Floats) -> coo_array:
        entries = np.concatenate([taken, -there]), (np.append(of_cell, cell), np.append(resident, number + cell))
        return coo_array(entries, shape)

    names = sorted(gpus)
    of_type = np.array([names.index(one.figures.mps.gpu) for one in cells])
    counts = coo_array((np.ones(len(cells)), (of_type, number + cell)), (len(names), columns))
    there = vstack(
        [
            counts,
            within(units, np.ones(len(cells))),
            within(np.ones(number), residents),
            *(within(demands[c], high[:, c]) for c in range(channels)),
        ]
    )
    asked = rows.matrix(workload, resident, carried, np.ones(number), columns)
    matrix: Any = csr_array(vstack([asked, hstack([there, csr_array((there.shape[0], n))])]))
    answer = linprog(
        np.concatenate([-weights[workload] * carried / most, np.zeros(len(cells)), np.full(n, DEAR)]),
        A_ub=matrix,
        b_ub=np.concatenate(
            [rows.at_most, [float(gpus[name]) for name in names], np.zeros((2 + channels) * len(cells))]
        ),
        method="highs",
        options={"time_limit": max(deadline - time.monotonic(), LEAST_S)},
    )
    if answer.status != 0 or answer.x is None or answer.fun is None:
        return None
    dual = np.maximum(-np.asarray(answer.ineqlin.marginals) * most, 0.0)
    of_cells = dual[len(rows.at_most) + len(names) :].reshape(2 + channels, len(cells))
    x, z = answer.x[:number], answer.x[number:columns]
    for k, one in enumerate(cells):
        own = x[of_cell == k]
        one.of_unit = float(of_cells[0, k]) / one.figures.mps.capacity_units
        one.of_resident, one.of_demand = float(of_cells[1, k]), of_cells[2:, k] / one.scale
        one.gpus = float(z[k])
        asked_for = (float(demand[one.taken] @ own) for demand in one.choices.demands)
        one.totals = tuple(total / one.gpus if one.gpus > HOLDS else 0.0 for total in asked_for)
    return rows.prices(dual[: len(rows.at_most)]), -float(answer.fun) * most


def _by_type(cells: Sequence[_Open]) -> dict[str, tuple[PricedCell, ...]]:
    found: dict[str, tuple[PricedCell, ...]] = {}
    for one in sorted(cells, key=lambda one: -one.gpus):
        own = PricedCell(one.cell, tuple(one.of_demand.tolist()))
        found[one.figures.mps.gpu] = (*found.get(one.figures.mps.gpu, ()), own)
    return found
