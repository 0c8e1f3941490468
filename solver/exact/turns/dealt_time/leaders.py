"""
What the leaders of shares may ask: of each share that occupant who asks most.

Who asks most is said by one number, a sum of what is asked of each thing shared in fixed proportions: the pressure.
What occupants may ask on a share of u units, any service with any batch size, is put into cells, each with the least
and the most of each thing and the most pressure in it. The leader of a share presses no less than any occupant; so
where an occupant is known, the leader is in one of the cells whose pressure is no less than the occupant's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats

WIDTH = 1.02
"""How many times the least of a thing in a cell the most of it is, about."""

MOST_CELLS = 64
"""Of one size of share; where there are more, they become wider."""

ROUNDING = 1e-9
"""Part by which the pressure of a leader may be below that of an occupant, by rounding alone."""


@dataclass(frozen=True, eq=False)
class Leaders:
    """Cells of what leaders ask; arrays have shape (unit, cell, thing shared) or (unit, cell)."""

    low: Floats
    high: Floats
    pressure: Floats
    """The most in the cell; -inf: there is no such cell."""

    def may_lead(self, pressure: Floats, unit: np.ndarray) -> np.ndarray:
        """Tells which cells may have the leader of an occupant, shape (occupant, cell); both arguments (occupant,)."""
        return np.asarray(self.pressure[unit] >= pressure[:, None] * (1 - ROUNDING))


def leaders_of(asked: Sequence[Floats], in_proportion: Floats) -> Leaders:
    """
    Returns the cells.

    Parameters
    ----------
    asked
        For each kind of occupant, shape (thing shared, batch size, unit).
    in_proportion
        What the things shared are multiplied by in the pressure, above 0, shape (thing shared,).
    """
    every = np.concatenate([own.reshape(len(own), -1, own.shape[-1]) for own in asked], axis=1)
    cells = [_cells(every[:, :, u].T, in_proportion) for u in range(every.shape[-1])]
    most = max(len(own) for own, _, _ in cells)
    shape = (len(cells), most)
    low, high = np.zeros((*shape, len(every))), np.zeros((*shape, len(every)))
    pressure = np.full(shape, -np.inf)
    for u, (own_low, own_high, own_pressure) in enumerate(cells):
        at = slice(0, len(own_low))
        low[u, at], high[u, at], pressure[u, at] = own_low, own_high, own_pressure
    return Leaders(low, high, pressure)


def _cells(points: Floats, in_proportion: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns the least, the most and the most pressure of each cell of points, shape (point, thing shared)."""
    width = np.log(WIDTH)
    logs = np.log(np.maximum(points, 1e-9 / in_proportion))
    while True:
        _, of = np.unique(np.floor(logs / width), axis=0, return_inverse=True)
        of = of.reshape(-1)
        if of.max() < MOST_CELLS:
            break
        width *= 1.5
    order = np.argsort(of, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(of[order]) > 0))
    sorted_points = points[order]
    return (
        np.minimum.reduceat(sorted_points, begins),
        np.maximum.reduceat(sorted_points, begins),
        np.maximum.reduceat(sorted_points @ in_proportion, begins),
    )
