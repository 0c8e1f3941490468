"""How GPUs may be cut and what they cost; and prices at which no cut is worth more than it costs."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints

LEAST_PRICE = 1e-6
"""Of the greatest price: what a size costs that nobody wants."""


@dataclass(frozen=True, eq=False)
class Supply:
    """How GPUs may be cut, and what they cost. Shapes (cut, size), (cut,), (cut,) and (type,)."""

    instances: Ints
    """a: instances of each size in a cut; last come the GPUs under MPS, each a size and a cut of its own."""
    gpu_type: Ints
    cost: Floats
    available: Floats
    """N: GPUs of a type; inf: as many as needed."""


def least_rent(supply: Supply, price: Floats) -> Floats:
    """Returns for each type how much more than its cost the most valuable cut of it is worth."""
    excess = supply.instances @ price - supply.cost
    rent = np.zeros(len(supply.available))
    np.maximum.at(rent, supply.gpu_type, excess)
    return rent


def feasible_unlimited(supply: Supply, price: Floats) -> Floats:
    """Returns prices scaled down so far that no cut of a type without limit is worth more than it costs."""
    unlimited = ~np.isfinite(supply.available[supply.gpu_type])
    worth = supply.instances[unlimited] @ price
    excess = float(np.max(worth / supply.cost[unlimited], initial=1.0))
    return np.asarray(price / excess if excess > 1 else price, dtype=np.float64)


def feasible(supply: Supply, price: Floats) -> Floats:
    """Returns the same of prices that are above 0, as covers are compared by their price per part."""
    floored = np.maximum(price, LEAST_PRICE * max(float(price.max()), 1e-9))
    return feasible_unlimited(supply, floored)


def proportional(supply: Supply) -> Floats:
    """Returns prices by which a size costs its part of the cheapest GPU that can be cut into it alone."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.min(supply.cost[:, None] / supply.instances, axis=0), dtype=np.float64)
