"""
Which residents get which share of a GPU, worth most together: a dynamic program over units and residents, cell by cell.

Whoever may be there once needs a stage of its own in the program, which costs as much as all others together. So at
first nobody has one, as if all might be there any number of times, which is worth no less; who then is there twice, and
may not be, gets a stage, until nobody is, or the cell is worth no more than is asked (decremental state-space
relaxation: Righini and Salani, Networks 51, 2008, for routes that visit a customer twice). Each round's answer is a
limit. Many cells are dealt at once, as arrays.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ...performance.interference.prediction import Floats, Ints

NOBODY = -1
"""In place of a workload that has no stage."""

Placed = tuple[tuple[int, int], ...]
"""Workload and units of each resident."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """The shares in units that are worth most together, in each cell."""

    most: Floats
    """Shape (cell,)."""
    of_units: Floats
    """Shape (cell, unit + 1): the most with at most so many units and one resident less."""
    placed: tuple[Placed, ...]
    """For each cell. Where it is worth no more than is asked, somebody may be there too often."""
    apart: np.ndarray
    """Shape (cell, workload): who has a stage in the end."""


@dataclass(frozen=True, eq=False)
class _Tables:
    """What the stages found: shape (cell, resident + 1, unit + 1) each, of at most so many residents and units."""

    anybody: Floats
    """Shape (cell, unit + 1): what the best of those without a stage is worth."""
    whose: Ints
    """Shape (cell, unit + 1): who that is."""
    before: list[Floats]
    """Those before each of the stages of single workloads, and last those after all."""
    stages: Ints
    """Shape (cell, stage): whose they are."""


def dealt(worth: Floats, once: np.ndarray, residents: Ints, apart: np.ndarray, enough: Floats) -> Dealt:
    """
    Returns the shares of at most so many residents that fit together and are worth most, in each cell.

    Parameters
    ----------
    worth
        Shape (cell, workload, unit + 1): what each is worth with so many units, not below 0; of 0 units: 0.
    once
        Shape (workload,): whether it may be there once only.
    residents
        Shape (cell,): at most, at least 1.
    apart
        Shape (cell, workload): who has a stage to begin with.
    enough
        Shape (cell,): what is worth no more need not be dealt as `once` says.
    """
    cells, _, units = worth.shape
    apart = apart & once
    most, of_units = np.zeros(cells), np.zeros((cells, units))
    placed: list[Placed] = [()] * cells
    # Tables have a row for each resident: cells of few go apart from those of many.
    for size in np.unique(np.frexp(residents)[1]).tolist():
        still = np.flatnonzero(np.frexp(residents)[1] == size)
        while len(still):
            tables = _tables(worth[still], int(residents[still].max()), apart[still])
            last = tables.before[-1]
            again = []
            for row, (cell, number) in enumerate(zip(still.tolist(), residents[still].tolist(), strict=True)):
                most[cell], of_units[cell] = last[row, number, -1], last[row, number - 1]
                placed[cell] = _placed(tables, worth[cell], row, number)
                there = Counter(workload for workload, _ in placed[cell])
                often = [workload for workload, times in there.items() if times > 1 and once[workload]]
                if often and most[cell] > enough[cell]:
                    apart[cell, often] = True
                    again.append(cell)
            still = np.array(again, dtype=np.int64)
    return Dealt(most, of_units, tuple(placed), apart)


def _tables(worth: Floats, residents: int, apart: np.ndarray) -> _Tables:
    """Returns the tables of the program in which those who are `apart` have stages, shape (cell, workload)."""
    cells, workloads, units = worth.shape
    others = np.where(apart[:, :, None], 0.0, worth)
    whose = others.argmax(axis=1) if workloads else np.zeros((cells, units), dtype=np.int64)
    anybody = others.max(axis=1, initial=0.0)
    nothing = np.zeros((cells, residents + 1, units))
    every = np.concatenate([np.full((cells, residents + 1, units - 1), -np.inf), nothing], axis=2)
    table = every[:, :, units - 1 :]
    useful = np.concatenate([[0], np.flatnonzero(_useful(anybody))])
    left = sliding_window_view(every, units, axis=2)[:, :, ::-1]
    """Shape (cell, resident, share, unit): the table with so much less; -inf: that is more than there is."""
    for k in range(1, residents + 1):
        np.max(left[:, k - 1, useful] + anybody[:, useful, None], axis=1, out=table[:, k])
        if np.array_equal(table[:, k], table[:, k - 1]):  # nor do further residents add anything
            table[:, k:] = table[:, k, None]
            break
    number = apart.sum(axis=1)
    stages = np.full((cells, int(number.max(initial=0))), NOBODY)
    cell, workload = np.nonzero(apart)
    stages[cell, np.arange(len(cell)) - np.repeat(np.cumsum(number) - number, number)] = workload
    before = [table.copy()]
    own = np.where(stages[:, :, None] == NOBODY, 0.0, worth[np.arange(cells)[:, None], stages])
    # In place of who is worth no more on a share than another that may be there anyhow stands that one.
    own = np.where(own > anybody[:, None], own, 0.0)
    of_stages = _useful(own)
    for stage in range(stages.shape[1]):
        now = before[-1].copy()
        for share in np.flatnonzero(of_stages[stage]).tolist():
            with_it = before[-1][:, :-1, : units - share] + own[:, stage, share, None, None]
            np.maximum(now[:, 1:, share:], with_it, out=now[:, 1:, share:])
        before.append(now)
    return _Tables(anybody, whose, before, stages)


def _useful(of_share: Floats) -> np.ndarray:
    """Tells which shares are worth more than any smaller one in some cell, not 0; shape (cell, ..., unit + 1)."""
    before = np.maximum.accumulate(of_share, axis=-1)[..., :-1]
    found = np.zeros(of_share.shape[1:], dtype=np.bool_)
    np.any(of_share[..., 1:] > before, axis=0, out=found[..., 1:])
    return found


def _placed(tables: _Tables, worth: Floats, row: int, number: int) -> Placed:
    """Returns who is where in a best choice of a cell, of at most so many residents; `worth`: of the cell."""
    k, at = number, worth.shape[1] - 1
    found = []
    for stage in range(tables.stages.shape[1] - 1, -1, -1):
        workload = int(tables.stages[row, stage])
        without = tables.before[stage][row]
        if workload != NOBODY and k and tables.before[stage + 1][row, k, at] > without[k, at]:
            share = int((without[k - 1, at::-1] + worth[workload, : at + 1]).argmax())
            found.append((workload, share))
            k, at = k - 1, at - share
    table = tables.before[0][row]
    while k and table[k, at] > 0:
        if table[k, at] > table[k - 1, at]:
            share = int((table[k - 1, at::-1] + tables.anybody[row, : at + 1]).argmax())
            found.append((int(tables.whose[row, share]), share))
            at -= share
        k -= 1
    return tuple(found)
