"""
What workloads cost at any prices, from above, by the covers that were cheapest at some.

Covers that were listed at one price are covers at any, so the cheapest of those listed so far costs no less than the
cheapest: with U the sum of these, L <= U everywhere (L as in lagrangian_dual.py), and L = U where the covers that are
cheapest were listed. U is concave and takes no enumeration, so the prices at which U is greatest are found in no time;
the covers near them are listed next, which gives L there and brings U down. When the two meet, no prices are better.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..covers.cover_groups import CoverGroups
from ..covers.listed_covers import ListedCovers, fluid_cost


@dataclass(frozen=True, eq=False)
class _Pooled:
    """Covers listed so far. `same` numbers workloads that had the same covers in every listing."""

    listings: tuple[CoverGroups, ...]
    group: Ints
    """Shape (same, listing): their group in each."""
    weight: Floats
    """Shape (same,): how many they are; those that are a fluid do not count."""


class PooledCovers:
    """U, of a number of workloads."""

    def __init__(self, workloads: int) -> None:
        self.box: tuple[Floats, Floats] | None = None
        self._counts = np.ones(workloads)
        self._same = np.zeros(workloads, dtype=np.int64)
        self._pooled = _Pooled((), np.zeros((1, 0), dtype=np.int64), np.array([float(workloads)]))
        self._fluid_part: Floats | None = None

    def add(self, listed: ListedCovers) -> None:
        """Adds the covers of a listing of the same workloads."""
        groups = len(listed.covers.first)
        both = self._same * groups + listed.covers.group
        different, first, self._same = np.unique(both, return_index=True, return_inverse=True)
        before = self._pooled.group[different // groups]
        new = self._counts[listed.unlisted] > 0
        if new.any():
            part = listed.part[new]
            self._fluid_part = part if self._fluid_part is None else np.vstack([self._fluid_part, part])
            self._counts[listed.unlisted] = 0.0
        self._pooled = _Pooled(
            (*self._pooled.listings, listed.covers),
            np.column_stack([before, listed.covers.group[first]]),
            np.bincount(self._same, weights=self._counts, minlength=len(different)).astype(np.float64),
        )

    def demand(self, price: Floats) -> tuple[float, Floats]:
        """Returns U and the partitions of each size that the covers take, the slope of U."""
        costs, positions = [], []
        for covers, group in zip(self._pooled.listings, self._pooled.group.T, strict=True):
            cost = covers.counts @ price
            position = covers.first_where(cost <= covers.least(cost))
            costs.append(cost[position][group])
            positions.append(position[group])
        cheapest = np.argmin(costs, axis=0)
        demand = np.zeros(len(price))
        for i, covers in enumerate(self._pooled.listings):
            rows = np.flatnonzero(cheapest == i)
            taken = np.bincount(positions[i][rows], weights=self._pooled.weight[rows], minlength=len(covers.counts))
            demand += taken @ covers.counts
        total = float(demand @ price)
        if self._fluid_part is not None:
            size = np.argmin(price / np.maximum(self._fluid_part, 1e-300), axis=1)
            np.add.at(demand, size, 1 / self._fluid_part[np.arange(len(size)), size])
            total += float(fluid_cost(self._fluid_part, price).sum())
        return total, demand
