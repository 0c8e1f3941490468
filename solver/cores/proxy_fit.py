"""
The interference proxy (VELTAIR, ASPLOS 2022, 4.3): the level of interference as a linear formula of counters.

    level = a_0 + sum_k a_k counter_k        by least squares over rows of counters with the level that was measured

VELTAIR takes the miss rate of the L3 cache and its accesses, since these explain most; its coefficients were not
published, and those of one machine say nothing of another. What counts is how far the formula is off on what it has not
seen: the error of each row under a fit to all others. With Q an orthonormal basis of the columns (a_0's included) and
h_i = |Q_i|^2 that error is, without fitting anew,

    held out_i = error_i / (1 - h_i)         (Allen 1974, PRESS);   h_i = 1: without row i there is no fit

A runtime needs no more of a level than which of the measured ones is nearest, so the part of the rows for which that is
right says most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.errors import Finding, InputError
from ..model.fit_error import FitError
from ..model.interference_proxy import Counter, InterferenceProxy
from .chain import Floats
from .levels import nearest_level

RANK = 1e-9
"""Part of the greatest diagonal entry below which a column counts as a combination of others."""

DETERMINED = 1e-9
"""1 - h below which a row determines a coefficient by itself."""


@dataclass(frozen=True, eq=False)
class CounterTable:
    """Counters with the levels that were measured beside them."""

    source: str
    names: tuple[str, ...]
    counters: Floats
    """Shape (row, counter)."""
    level: Floats
    """Shape (row,), at least 1."""


def fit_proxy(table: CounterTable, levels: Sequence[float] = ()) -> InterferenceProxy:
    """
    Returns the formula with its errors.

    Parameters
    ----------
    levels
        At which versions of layers were measured, ascending.

    Raises
    ------
    InputError
        If there are too few rows, all levels are the same, or a counter follows from the others.
    """
    rows, columns = table.counters.shape
    if rows < columns + 2:
        message = f"has {rows} rows; expected {columns + 2} at least, for {columns} counters"
        raise InputError([Finding(table.source, "", message)])
    if np.ptp(table.level) <= 0:
        raise InputError(
            [Finding(table.source, "level", f"is {table.level[0]:g} in every row; expected several levels")]
        )
    scale = np.maximum(np.abs(table.counters).max(axis=0), np.finfo(float).tiny)
    basis, upper = np.linalg.qr(np.column_stack([np.ones(rows), table.counters / scale]))
    diagonal = np.abs(np.diag(upper))
    if (flat := np.flatnonzero(diagonal <= RANK * diagonal.max())).size:
        name = table.names[int(flat[0]) - 1]
        message = "is the same in every row, or follows from the counters before it; leave it out"
        raise InputError([Finding(table.source, name, message)])
    found = np.linalg.solve(upper, basis.T @ table.level)
    error = table.level - basis @ (basis.T @ table.level)
    free = 1 - (basis**2).sum(axis=1)
    held_out = error / free if (free > DETERMINED).all() else None
    counters = tuple(
        Counter(name=name, coefficient=float(a), alone=_explained(column, table.level))
        for name, a, column in zip(table.names, found[1:] / scale, table.counters.T, strict=True)
    )
    return InterferenceProxy(
        intercept=float(found[0]),
        counters=counters,
        explained=_part(error, table.level),
        error=_fit_error(error, table.level),
        held_out=None if held_out is None else _fit_error(held_out, table.level),
        levels=tuple(levels),
        nearest=_nearest(table.level, held_out, levels) if len(levels) and held_out is not None else None,
    )


def _nearest(measured: Floats, held_out: Floats, levels: Sequence[float]) -> float:
    pairs = zip(measured.tolist(), (measured - held_out).tolist(), strict=True)
    return sum(nearest_level(levels, one) == nearest_level(levels, other) for one, other in pairs) / len(measured)


def _explained(column: Floats, level: Floats) -> float:
    """Returns the part of the levels' variance that one counter explains: the square of their correlation."""
    centred, of_level = column - column.mean(), level - level.mean()
    spread = float(centred @ centred) * float(of_level @ of_level)
    return min(1.0, float(centred @ of_level) ** 2 / spread) if spread > 0 else 0.0


def _part(error: Floats, level: Floats) -> float:
    centred = level - level.mean()
    return min(1.0, max(0.0, 1 - float(error @ error) / float(centred @ centred)))


def _fit_error(error: Floats, level: Floats) -> FitError:
    relative = np.abs(error) / level
    return FitError(
        points=len(level),
        median=float(np.median(relative)),
        p95=float(np.quantile(relative, 0.95)),
        max=float(relative.max()),
    )
