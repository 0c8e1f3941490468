"""What a latency rule says, and what is common to all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints

TOLERANCE = 1e-9
"""Relative; a latency or a rate equal to its limit but for rounding counts as within it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What workloads ask of a partition; arrays of one shape, mostly (workload,)."""

    slo_ms: Floats
    rate_rps: Floats
    """Of the whole workload, with the headroom that is provisioned."""
    quantile: Floats
    """Part of the requests that is to be within the SLO; of percentiles only."""

    def of(self, rows: Ints | list[int]) -> "Asked":
        """Returns what some of the workloads ask, in the order given."""
        return Asked(self.slo_ms[rows], self.rate_rps[rows], self.quantile[rows])

    @property
    def of_each_point(self) -> "Asked":
        """The same with arrays of shape (workload, 1), which pair with points as (workload, point)."""
        return Asked(self.slo_ms[:, None], self.rate_rps[:, None], self.quantile[:, None])


Group = tuple[OperatingPoints, Asked]
"""Operating points, and what the workloads ask that may use them."""


class LatencyRule(Protocol):
    """Says which operating points serve a workload, and how much of it."""

    @property
    def depends_on_rate(self) -> bool:
        """Whether what a partition carries depends on the rate of its whole workload."""
        ...

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """
        Returns the greatest rate at which a partition at a point keeps the SLO; it does at every lower rate too.

        0: at none. Arrays of points, of shape (point,), pair with those of what is asked as numpy broadcasts them.
        """
        ...

    def best_of(self, groups: Sequence[Group]) -> list[tuple[Ints, Floats]]:
        """
        Returns for each group the point that carries most, -1 where none does anything, and how much; (workload,).

        Of equal ones the lowest latency wins, then the smallest batch, then the fewest processes.
        """
        ...

    @property
    def part_of_slo(self) -> float:
        """The part of an SLO that a batch may take: beyond it no rate holds."""
        ...

    def time_ms(self, points: OperatingPoints) -> Floats:
        """Returns the time of a batch as the rule counts it, shape (point,)."""
        ...

    def too_slow(self, slo_ms: float, fastest_ms: float, where: str) -> str:
        """Returns why no operating point keeps an SLO, and which SLO the fastest of them, at `where`, would keep."""
        ...


class QueueRule(LatencyRule, Protocol):
    """A rule of requests that wait: the more of them, the less time may a batch take."""

    def longest_ms(self, batch: Ints, rate_rps: Floats, asked: Asked) -> Floats:
        """
        Returns the longest time of a batch with which one process carries a rate; 0: with none.

        It does with every shorter time too, as `greatest_rps` never rises with the time. Arrays are broadcast.
        """
        ...


def holds(rule: LatencyRule, points: OperatingPoints, asked: Asked, rate_rps: Floats) -> np.ndarray:
    """Returns whether the rule holds for partitions at rates; arrays pair as in `LatencyRule.greatest_rps`."""
    greatest = rule.greatest_rps(points, asked)
    return np.asarray((greatest > 0) & (rate_rps <= greatest * (1 + TOLERANCE)))
