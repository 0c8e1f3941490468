"""What a latency rule says, and what is common to all of them."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints

TOLERANCE = 1e-9
"""Relative; a latency or a rate equal to its limit but for rounding counts as within it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What workloads ask of a partition; arrays of shape (workload,)."""

    slo_ms: Floats
    rate_rps: Floats
    """Of the whole workload, with the headroom that is provisioned."""

    def of(self, rows: Ints | list[int]) -> "Asked":
        """Returns what some of the workloads ask, in the order given."""
        return Asked(self.slo_ms[rows], self.rate_rps[rows])


class LatencyRule(Protocol):
    """Says which operating points serve a workload, and how much of it."""

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """
        Returns the greatest rate at which a partition at a point keeps the SLO, shape (workload, point).

        It keeps it at every lower rate too. 0: at none.
        """
        ...

    def best(self, points: OperatingPoints, asked: Asked) -> tuple[Ints, Floats]:
        """
        Returns the point that carries most, -1 where none carries anything, and how much; shape (workload,).

        Of equal ones the lowest latency wins, then the smallest batch, then the fewest processes.
        """
        ...

    def too_slow(self, slo_ms: float, fastest_ms: float, where: str) -> str:
        """Returns why no operating point keeps an SLO, and which SLO the fastest of them, at `where`, would keep."""
        ...


def holds(rule: LatencyRule, points: OperatingPoints, asked: Asked, rate_rps: Floats) -> np.ndarray:
    """Returns whether the rule holds for partitions at rates of shape (workload, point); shape (workload, point)."""
    greatest = rule.greatest_rps(points, asked)
    return np.asarray((greatest > 0) & (rate_rps <= greatest * (1 + TOLERANCE)))
