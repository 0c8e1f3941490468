"""
A linear space of prices in which services that ask for about the same cost about the same.

Where services are many, a price for each is more than the sets that are met can tell apart: prices go to and fro, and
each round shows thousands of sets that differ from known ones by a service of the same size. Prices that are sums of a
few smooth functions of what services ask for are known after few rounds. This costs some of the bound, less the more
services there are; any prices give a bound (price_search.py), so nothing here can make it wrong.

The functions: of the least units and demands of a service (least_demands.py) in several surroundings, each alone,
piecewise linear between quantiles; of the space that they span, the directions in which services differ most (its
leading singular vectors).
"""

from collections.abc import Sequence

import numpy as np

from ...performance.interference.prediction import Floats
from .customers import OnType
from .least_demands import TOO_MUCH, least_demands

SURROUNDINGS = ((2, 0.7), (3, 0.8), (4, 1.0), (5, 1.2), (6, 1.6), (8, 1.3), (10, 1.6))
"""Residents, and what they ask together as a part of what they typically do."""

NODES = 5
"""Quantiles between which a function is linear."""

DIMENSIONS = 60

SAME = 1e-6
"""Part of the greatest singular value below which directions are rounding."""


def price_space(customers: int, types: Sequence[OnType], typical: Sequence[Floats]) -> Floats:
    """
    Returns an orthonormal basis, shape (customer, dimension).

    Parameters
    ----------
    customers
        How many there are.
    typical
        What the residents of a GPU of each type typically ask together, shape (thing shared,).
    """
    columns = []
    for one, usual in zip(types, typical, strict=True):
        first = np.unique(one.customer, return_index=True)[1]
        guests = one.guests.of(first)
        for residents, part in SURROUNDINGS:
            least = least_demands(guests, np.array([residents]), part * usual[:, None])
            units = np.minimum(least.units[0].astype(np.float64), one.guests.mps.capacity_units)
            for asked in (units, *least.asked[:, 0].astype(np.float64)):
                own = _piecewise(np.where(least.units[0] < TOO_MUCH, asked, asked.max(initial=0.0)))
                whole = np.zeros((customers, own.shape[1]))
                whole[one.customer[first]] = own * one.usd_per_hour
                columns.append(whole)
    matrix = np.concatenate(columns, axis=1)
    sizes = np.linalg.norm(matrix, axis=0)
    left, singular, _ = np.linalg.svd(matrix[:, sizes > 0] / sizes[sizes > 0], full_matrices=False)
    basis: Floats = left[:, singular > SAME * singular[0]][:, :DIMENSIONS]
    return basis


def _piecewise(values: Floats) -> Floats:
    """Returns the functions that are 1 at one quantile of some values and 0 at the others, shape (value, function)."""
    nodes = np.unique(np.quantile(values, np.linspace(0, 1, NODES)))
    return np.stack([np.interp(values, nodes, one) for one in np.eye(len(nodes))], axis=1)
