"""
All requests in time if they arrive evenly spaced at a partition: twice the time of a batch is within the SLO.

With p processes that share a queue, batches of T (full_batch.py) and at most b p requests in any time T, no request
waits longer than T: those before it came within the T before it, so they and it are at most b p, and within the T after
it each process begins a batch, together p that take b each or all that wait. It is then executed in T. A process with a
queue of its own is the case p = 1. Arrivals are half-open in time: a request that comes as a batch begins is in it.

The rule says nothing of requests that arrive at random; and a router that deals by weighted turns spaces them evenly
but for one request.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints
from .execution import in_tenths
from .full_batch import batch_time_ms, most_carried
from .rule import TOLERANCE, Asked, Group


@dataclass(frozen=True)
class WorstCase:
    """The rule, which has no parameters."""

    depends_on_rate: bool = False

    @property
    def part_of_slo(self) -> float:
        """One half: a request may wait for one batch and be executed in the next."""
        return 1 / 2

    def longest_ms(self, batch: Ints, rate_rps: Floats, asked: Asked) -> Floats:
        """Returns the time with which b / T is the rate, half of the SLO at most."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.minimum(asked.slo_ms / 2, 1000.0 * batch / rate_rps))

    def time_ms(self, points: OperatingPoints) -> Floats:
        """Returns the time that every batch is counted to take."""
        return batch_time_ms(points)

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """Returns b p / T where 2 T is within the SLO, else 0."""
        time_ms = batch_time_ms(points)
        in_time = 2 * time_ms <= asked.slo_ms * (1 + TOLERANCE)
        return np.where(in_time, 1000.0 * points.batch * points.processes / time_ms, 0.0)

    def best_of(self, groups: Sequence[Group]) -> list[tuple[Ints, Floats]]:
        """As the protocol says."""
        return most_carried(groups, self.greatest_rps, 1.0)

    def too_slow(self, slo_ms: float, fastest_ms: float, where: str) -> str:
        """As the protocol says."""
        return (
            f"its SLO of {slo_ms:g} ms is too short: a request may wait for one batch and be executed in the next, "
            f"both within the SLO, and the fastest batch takes {fastest_ms:.4g} ms ({where}); an SLO of "
            f"{in_tenths(2 * fastest_ms):g} ms would do"
        )
