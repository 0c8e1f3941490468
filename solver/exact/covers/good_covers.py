"""
A good cover of each workload, found without a search: a limit on what its cheapest costs; and a bound from below.

With b the size of the least price per part carried it is as many b as fit, or one fewer, or none, and the cheapest
single size for the rest.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .demands import Demands

TOLERANCE = 1e-9
"""How much of a rate may be missing, and how far a cost may pass its limit, by rounding alone."""


@dataclass(frozen=True, eq=False)
class GoodCovers:
    """A cover of each workload. Shapes (workload, size), (workload,) and (workload, type)."""

    counts: Ints
    cost: Floats
    """inf: none was found."""
    shared: Floats | None
    """GPUs of each type under MPS; None: there are no such types."""


def fluid(demands: Demands, price: Floats) -> Floats:
    """Returns the least price of carrying all of each rate, were partitions a fluid too; shape (workload,)."""
    of_size, of_shared = np.split(price, [demands.part.shape[1]])
    with np.errstate(divide="ignore"):
        value: Floats = np.min(of_size / demands.part, axis=1, initial=np.inf)
    return value if demands.shared is None else np.minimum(value, np.min(demands.shared.at_least * of_shared, axis=1))


def whole_number(rest: Floats, part: Floats) -> Floats:
    """Returns how many partitions carry a rest, each of them a part."""
    number = rest - TOLERANCE
    np.maximum(number, 0.0, out=number)
    number /= part
    number -= TOLERANCE  # of 0 it leaves no more than -0.0
    return np.asarray(np.ceil(number, out=number))


def cheapest_sizes(part: Floats, price: Floats) -> Ints:
    """Returns for each workload the size of the least price that serves it, shape (workload,)."""
    if not part.shape[1]:
        return np.zeros(len(part), dtype=np.int64)
    return np.asarray(np.argmin(np.where(part > 0, price, np.inf), axis=1), dtype=np.int64)


def good_covers(demands: Demands, price: Floats) -> GoodCovers:
    """Returns such covers; with no partition at all where GPUs under MPS are cheaper."""
    counts, cost = _of_partitions(demands, price[: demands.part.shape[1]])
    if demands.shared is None:
        return GoodCovers(counts, cost, None)
    of_shared, taken = demands.shared.taken(np.ones(len(cost)), price[demands.part.shape[1] :])
    elsewhere = of_shared < cost
    counts[elsewhere], taken[~elsewhere] = 0, 0.0
    return GoodCovers(counts, np.minimum(cost, of_shared), taken)


def _of_partitions(demands: Demands, price: Floats) -> tuple[Ints, Floats]:
    """Returns counts and cost of such a cover by partitions alone; the cost inf: there is none."""
    part = demands.part
    workloads, sizes = part.shape
    rows = np.arange(workloads)
    if not sizes:
        return np.zeros((workloads, 0), dtype=np.int64), np.full(workloads, np.inf)
    cheapest = cheapest_sizes(part, price)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = np.argmin(price / part, axis=1)
        full = np.floor(1 / part[rows, b] + TOLERANCE)
        best_cost, best = np.full(workloads, np.inf), np.zeros((workloads, sizes), dtype=np.int64)
        for of_b in (full, np.maximum(full - 1, 0), np.zeros(workloads)):
            rest = np.maximum(1 - of_b * part[rows, b] - TOLERANCE, 0.0)
            other = np.where(part > 0, np.ceil(rest[:, None] / part - TOLERANCE), np.inf)
            other = np.maximum(other, 0.0)
            total = of_b[:, None] + other
            missing = np.maximum(demands.least[:, None] - total, 0.0)
            cost = (of_b * price[b])[:, None] + other * price + missing * price[cheapest][:, None]
            cost = np.where((total <= demands.most[:, None]) & np.isfinite(other), cost, np.inf)
            k = np.argmin(cost, axis=1)
            better = np.flatnonzero(cost[rows, k] < best_cost)
            best_cost[better] = cost[better, k[better]]
            best[better] = 0
            best[better, b[better]] += of_b[better].astype(np.int64)
            best[better, k[better]] += other[better, k[better]].astype(np.int64)
    best[rows, cheapest] += np.maximum(demands.least - best.sum(axis=1), 0)
    return best, best_cost
