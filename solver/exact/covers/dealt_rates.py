"""
What residents take of GPUs under MPS, for the part of a rate that partitions leave to them: by GPUs that are dealt.

Each GPU is dealt to its residents (dealt_costs/). What residents of one type that carry x of a rate are dealt together
is at least a_g(l), with l = floor(x L) of L levels, or 1 at least, and L where x is 1. Of several types each carries a
part of x. Rounded up to levels as in dealt_costs/resident_covers.py, the levels of residents on all types sum to l or
more; so x costs at least

    min over levels l_g that sum to l of  sum_g price_g a_g(l_g)                                                     (1)

As a fluid of type g it costs F_g x, with F_g the least of a_g(L) and of a_g(l) L / (l + 1) for l below L: x is below
(l + 1) / L, and the sum of (l_g + 1) / L over the types that carry something is no less than that.

Each choice is linear in the prices, so what the cheapest costs is concave in them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...performance.interference.prediction import Floats, Ints

ALL = 1 - 1e-9
"""Part of a rate from which on it is all of it."""

ROUNDING = 1e-12
"""Part of a rate by which it may miss a level by rounding alone."""


@dataclass(frozen=True, eq=False)
class DealtRates:
    """What rates take of GPUs under MPS. Shape (workload, type, level of 0 and up)."""

    least: Floats
    """a: to carry so many L-th parts; 0 at 0; inf: not there."""

    @cached_property
    def gpus(self) -> Floats:
        """F: as a fluid; inf: not there."""
        levels = self.least.shape[2] - 1
        part = np.minimum(np.arange(1, levels + 1) + 1, levels) / levels
        return np.asarray((self.least[:, :, 1:] / part).min(axis=2))

    @property
    def at_least(self) -> Floats:
        """As `HostedRates.at_least`."""
        return self.gpus

    def of(self, rows: "Ints | list[int]") -> "DealtRates":
        """Returns what some workloads take."""
        return DealtRates(self.least[rows])

    def taken(self, rest: Floats, price: Floats) -> tuple[Floats, Floats]:
        """As `HostedRates.taken`, by the module's choices."""
        workloads, types, levels = self.least.shape
        rows = np.arange(workloads)
        below = np.clip(np.floor(rest * (levels - 1) * (1 + ROUNDING)), 1, levels - 2).astype(np.int64)
        asked = np.where(rest >= ALL, levels - 1, below)
        cost = np.where(np.arange(levels) == 0, 0.0, np.inf) * np.ones((workloads, 1))
        chosen = []
        for g in range(types):
            with np.errstate(invalid="ignore"):  # what costs nothing and cannot be there
                own = np.where(np.isfinite(self.least[:, g]), self.least[:, g] * price[g], np.inf)
            cost, here = _added(cost, own)
            chosen.append(here)
        taken = np.zeros((workloads, types))
        left = asked.copy()
        best = cost[rows, asked]
        for g in range(types - 1, -1, -1):
            here = chosen[g][rows, left]
            taken[:, g] = self.least[rows, g, here]
            left = left - here
        return best, taken


def _added(cost: Floats, own: Floats) -> tuple[Floats, np.ndarray]:
    """Returns the least costs of levels with one type more, and what level that type carries; (workload, level)."""
    best, here = cost.copy(), np.zeros(cost.shape, dtype=np.int64)
    for level in range(cost.shape[1]):
        other = cost[:, level::-1] + own[:, : level + 1]
        here[:, level] = np.argmin(other, axis=1)
        best[:, level] = np.take_along_axis(other, here[:, level, None], axis=1)[:, 0]
    return best, here
