"""
A linear space of prices in which services of one model that need about the same share cost about the same.

Where services are many, a price for each is more than the sets that are met can tell apart: prices go to and fro, and
each round shows thousands of sets that differ from known ones by a service of the same size. Prices that are sums of a
few smooth functions of what services need are known after few rounds. This costs some of the bound, less the more
services there are; any prices give a bound (price_search.py), so nothing here can make it wrong.

The functions, for each GPU type and each model that many services have (those of the others count as one model): of the
least share that a service needs beside neighbours that ask for what is typical, 1 at one quantile of these shares and 0
at the others, linear between. So the coordinates are prices at some shares, of which each service's price has two, and
a range of each coordinate holds the prices near the centre: the program has no rows for that.

On 1,000 services around iGniter's table 3, functions of what services ask of the things shared beyond what their share
lets expect made the bound rise more slowly, and so did 8 or 20 quantiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.sparse.linalg import lsqr

from ...performance.interference.prediction import Floats, Ints
from .customers import Customers
from .least_demands import least_percent

RESIDENTS = 4
"""Of a GPU on which a service's share is looked at."""

QUANTILES = 12
"""Of the shares of one model's services."""

MANY_ALIKE = 24
"""Services of a model from which on it has functions of its own."""

RANGE = 0.15
"""Part of itself by which a price at a share may differ from that at the centre."""

LEAST = 0.02
"""Part of the average price that counts as such a price at least."""

EXACT = 1e-9
"""Part of prices to which their coordinates are known."""


@dataclass(frozen=True, eq=False)
class PriceSpace:
    """Prices by few coordinates."""

    basis: csr_array
    """Shape (customer, coordinate)."""

    def coordinates(self, price: Floats) -> Floats:
        """Returns those of the prices in the space that are nearest to some, shape (customer,)."""
        found: Floats = lsqr(self.basis, price, atol=EXACT, btol=EXACT)[0]
        return found

    def prices(self, coordinates: Floats) -> Floats:
        """Returns prices, shape (customer,), none below 0."""
        found: Floats = np.maximum(self.basis @ coordinates, 0.0)
        return found

    def ranges(self, centre: Floats) -> Floats:
        """Returns from where to where coordinates may go from some prices, shape (coordinate, 2)."""
        own = self.coordinates(centre)
        reach = RANGE * np.maximum(np.abs(own), LEAST * float(centre.mean()))
        return np.stack([own - reach, own + reach], axis=1)


def price_space(customers: Customers, typical: Sequence[Floats]) -> PriceSpace:
    """
    Returns the space for some customers.

    Parameters
    ----------
    typical
        What the residents of a GPU of each type typically ask together, shape (thing shared,).
    """
    groups = _groups(customers.model)
    parts: list[csr_array] = []
    for one, usual in zip(customers.types, typical, strict=True):
        first = np.unique(one.customer, return_index=True)[1]
        who = one.customer[first]
        percent = least_percent(one.guests.of(first), np.array([RESIDENTS]), usual[:, None])[0]
        for group in np.unique(groups[who]):
            own = np.flatnonzero(groups[who] == group)
            nodes = np.unique(np.quantile(percent[own], np.linspace(0, 1, QUANTILES)))
            at = np.interp(percent[own], nodes, np.arange(len(nodes)))
            below = np.minimum(at.astype(np.int64), max(len(nodes) - 2, 0))
            above = np.minimum(below + 1, len(nodes) - 1)
            weights = np.concatenate([1 - (at - below), at - below])
            where = (np.concatenate([who[own], who[own]]), np.concatenate([below, above]))
            parts.append(csr_array((weights, where), shape=(len(customers.wanted), len(nodes))))
    return PriceSpace(csr_array(hstack(parts)))


def _groups(model: Ints) -> Ints:
    """Returns the models of customers, those of few as one, -1."""
    models, which, number = np.unique(model, return_inverse=True, return_counts=True)
    groups: Ints = np.where(number >= MANY_ALIKE, models, -1)[which]
    return groups
