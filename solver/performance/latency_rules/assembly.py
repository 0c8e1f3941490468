"""
Held batches in time if requests arrive evenly spaced at a partition: (b - 1)/rate + T <= SLO.

The rule of InSS (sec. 4.2, eq. 2, for the first request of a batch): a batch waits until it is full, at a rate r for
(b - 1)/r, and takes T (full_batch.py). A rate is no promise for lower ones, at which batches take longer to fill;
so here one that is not full leaves when its oldest request has waited

    H = SLO - T,

which is `dispatch_after_ms` of a plan. Then p processes of one queue keep the SLO at every rate r <= b p / T exactly if

    b = 1 and T <= SLO,  or  T (1 + 1/p) <= SLO, which is H >= T/p.

Let requests arrive every g = 1/r >= T / (b p), and H >= T/p or b = 1. A batch is ready when it is full or its oldest
request has waited H, and claim that it starts then. If (b - 1) g <= H it is full, and batches are ready b g >= T/p
apart. Else k < b requests go, those that come within H of the first, so k g > H >= T/p, and the next batch begins with
the next request: they are ready k g > T/p apart. So the p-th batch before one was ready at least T before it, started
then, and has ended: a process is free. No request waits longer than H, or (b - 1) g where that is less; it is late by
no more than T after that, within the SLO. Conversely let b > 1 and (b - 1)/(b p) T <= H < T/p (with less, full batches
are too late at b p / T, the highest rate, already): spaced by a g between H and T/p, single requests are ready faster
than p processes end them, and their waits grow beyond H. InSS's rule takes such points at their planned rate. With a
smaller H batches that leave at b p / T are not full, and processes fall behind.

worst_case.py holds nothing back and promises more: all that come within any T are at most b p, evenly spaced or not,
with 2 T <= SLO. With one process and batches of two or more both allow the same points. With several processes holding
allows longer batches, as processes that take full batches only cannot fall in close after each other; and a batch of
one may take all of the SLO, as nobody waits. Arrivals at random keep neither.
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
class Assembly:
    """The rule, with whether the processes of a partition take from one queue."""

    shared: bool
    depends_on_rate: bool = False

    @property
    def part_of_slo(self) -> float:
        """All of it, with batches of one."""
        return 1.0

    def longest_ms(self, batch: Ints, rate_rps: Floats, asked: Asked) -> Floats:
        """Returns the time with which b / T is the rate; half of the SLO at most, or all of it for batches of one."""
        with np.errstate(divide="ignore"):
            most = np.where(np.asarray(batch) > 1, asked.slo_ms / 2, asked.slo_ms)
            return np.asarray(np.minimum(most, 1000.0 * batch / rate_rps))

    def time_ms(self, points: OperatingPoints) -> Floats:
        """Returns the time that every batch is counted to take."""
        return batch_time_ms(points)

    def least_slack(self, points: OperatingPoints) -> Floats:
        """Returns the SLO over T that points need, shape (point,)."""
        processes = points.processes if self.shared else np.ones_like(points.processes)
        return np.where(points.batch > 1, 1 + 1 / processes, 1.0)

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """Returns b p / T where the SLO leaves enough for holding batches, else 0."""
        time_ms = batch_time_ms(points)
        in_time = self.least_slack(points) * time_ms <= asked.slo_ms * (1 + TOLERANCE)
        return np.where(in_time, 1000.0 * points.batch * points.processes / time_ms, 0.0)

    def best_of(self, groups: Sequence[Group]) -> list[tuple[Ints, Floats]]:
        """As the protocol says."""
        return most_carried(groups, self.greatest_rps, 1.0, self.least_slack)

    def too_slow(self, slo_ms: float, fastest_ms: float, where: str) -> str:
        """As the protocol says."""
        return (
            f"its SLO of {slo_ms:g} ms is too short: a batch is held until it is full, for as long as another takes, "
            f"both within the SLO, and the fastest batch takes {fastest_ms:.4g} ms ({where}); an SLO of "
            f"{in_tenths(2 * fastest_ms):g} ms would do"
        )


def held_ms(batch: Ints, time_ms: Floats, slo_ms: Floats) -> Floats:
    """Returns how long the oldest request of a batch may wait for it to fill, H; batches of one are full at once."""
    return np.where(batch > 1, np.maximum(slo_ms - time_ms, 0.0), 0.0)
