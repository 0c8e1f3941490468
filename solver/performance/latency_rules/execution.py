"""
Execution within a part of the SLO: latency <= slo_fraction x SLO, at any rate up to the throughput.

The rule of ParvaGPU (SC'24, sec. III-B: half of the SLO) and of iGniter (TPDS 2023, eq. 17); the rest of the SLO is
left for batching and queueing, of which the rule promises nothing: at a load of 1 a queue of random arrivals grows
without end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints
from .rule import TOLERANCE, Asked, Group

Times = TypeVar("Times", float, Floats)


def limit_ms(slo_ms: Times, slo_fraction: float) -> Times:
    """Returns the part of an SLO, or of each, that execution may take."""
    return slo_ms * slo_fraction


def least_slo_ms(latency_ms: float, slo_fraction: float) -> float:
    """Returns the SLO of which a latency is all that execution may take."""
    return latency_ms / slo_fraction


def in_tenths(slo_ms: float) -> float:
    """Returns an SLO rounded up to tenths of a millisecond, as it is recommended."""
    return ceil(slo_ms * 10) / 10


def within(latency_ms: Floats, limit_ms: Times) -> np.ndarray:
    """Returns which latencies keep a limit."""
    return np.asarray(latency_ms <= limit_ms * (1 + TOLERANCE))


@dataclass(frozen=True)
class Execution:
    """The rule with a problem's part of the SLO."""

    slo_fraction: float
    depends_on_rate: bool = False

    @property
    def part_of_slo(self) -> float:
        """As the problem says."""
        return self.slo_fraction

    def time_ms(self, points: OperatingPoints) -> Floats:
        """Returns the latency of a batch."""
        return points.latency_ms

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """Returns the throughput of the points that are fast enough, 0 of the others."""
        fast = within(points.latency_ms, limit_ms(asked.slo_ms, self.slo_fraction))
        return np.where(fast, points.capacity_rps, 0.0)

    def best_of(self, groups: Sequence[Group]) -> list[tuple[Ints, Floats]]:
        """As the protocol says."""
        return [self._best(points, asked) for points, asked in groups]

    def _best(self, points: OperatingPoints, asked: Asked) -> tuple[Ints, Floats]:
        """Searches along the points that are faster or carry more than any other."""
        if not points.batch.size:
            return np.full(asked.slo_ms.shape, -1, dtype=np.int64), np.zeros(asked.slo_ms.shape)
        order = np.lexsort((points.processes, points.batch, points.latency_ms))
        capacity = points.capacity_rps[order]
        best_so_far = np.maximum.accumulate(capacity)
        improves = np.concatenate(([True], capacity[1:] > best_so_far[:-1]))
        frontier = order[improves]  # rising latency, rising throughput: all others are dominated
        limit = limit_ms(asked.slo_ms, self.slo_fraction) * (1 + TOLERANCE)
        fast = np.searchsorted(points.latency_ms[frontier], limit, side="right")
        chosen = np.where(fast > 0, frontier[np.maximum(fast - 1, 0)], -1)
        return chosen, np.where(fast > 0, points.capacity_rps[chosen], 0.0)

    def too_slow(self, slo_ms: float, fastest_ms: float, where: str) -> str:
        """As the protocol says."""
        return (
            f"its SLO of {slo_ms:g} ms is too short: it leaves {limit_ms(slo_ms, self.slo_fraction):g} ms for "
            f"execution, and the fastest batch takes {fastest_ms:.4g} ms "
            f"({where}); an SLO of {in_tenths(least_slo_ms(fastest_ms, self.slo_fraction)):g} ms would do"
        )
