"""
What a partition carries at most of a percentile, however requests are dealt: a relaxation, and no rule to plan by.

A set S of partitions is planned to hold a service's rate R if the formula of queueing/server_set.py says so, or if what
its partitions carry in weighted turns (percentile.py) adds up to R. Each partition counts here for

    max(load', exact_i) C_i,    C_i = b p / T,

with exact_i the load of queueing/load_table.py (of one process, where each has a queue), and load' the
root of load = f(SLO R / load). There f(x) = min(0.97, theta / (e^theta - 1) - 0.013), theta = ln(1 / (1 - q)) / x, with
0.026 beyond q = 0.99, does not fall with x; so there is one root, and for no load above it is load <= f(SLO R / load).
Claim: for every S that holds R these add up to R.

Both formulas have M - D <= x with x = sum_i b_i p_i (SLO / T_i - 1) < SLO C for C = sum_i C_i, and margins no smaller
than that of f. (a) If the formula of the set holds, R <= f(SLO C) C. Were load' C < R, then C < R / load', so
f(SLO C) <= f(SLO R / load') = load' and R <= load' C, against it. (b) If turns add up, c_i = min(load_k C_i, R / k) for
some k, or load_1 C_i, or exact_i C_i. The last counts as itself. In the first, l = c_i / C_i <= load_k <= f(k SLO C_i)
with k <= R / c_i, so l <= f(SLO R / l), which means l <= load'. In the second, if load' C_i >= R, i counts for R by
itself; else C_i < R / load', and load_1 <= f(SLO C_i) <= f(SLO R / load') = load'. So all count for c_i, or one for R.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints
from ..queueing.load_table import greatest_loads, longest_times
from ..queueing.shared_queue import GREATEST_MEASURED, MOST, load_of_backlog, margins
from .full_batch import batch_time_ms, most_carried
from .rule import TOLERANCE, Asked, Group
from .worst_case import WorstCase

HALVINGS = 30
"""Of an interval of loads."""


@dataclass(frozen=True)
class AnyRouter:
    """The relaxation, with whether the processes of a partition take from one queue."""

    shared: bool
    depends_on_rate: bool = True

    @property
    def part_of_slo(self) -> float:
        """One half, as of every percentile."""
        return 1 / 2

    def longest_ms(self, batch: Ints, rate_rps: Floats, asked: Asked) -> Floats:
        """Returns the longest time with which one process may carry a rate, half of the SLO at most."""
        b, rate, slo, quantile, load = np.broadcast_arrays(
            batch, rate_rps, asked.slo_ms, asked.quantile, greatest_load_of_any(asked)
        )
        with np.errstate(divide="ignore"):
            by_load = np.minimum(slo / 2, load * 1000.0 * b / rate)
        return np.asarray(np.maximum(by_load, longest_times(b, slo, quantile, rate)))

    def time_ms(self, points: OperatingPoints) -> Floats:
        """Returns the time that every batch is counted to take."""
        return batch_time_ms(points)

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """Returns what each point counts for, 0 where T is more than half of the SLO."""
        time_ms = batch_time_ms(points)
        batch, slack, quantile, load = np.broadcast_arrays(
            points.batch, asked.slo_ms / time_ms, asked.quantile, greatest_load_of_any(asked)
        )
        on_one_queue = np.broadcast_to(points.processes if self.shared else 1, slack.shape)
        exact = greatest_loads(batch, on_one_queue, slack, quantile)
        full_rps = 1000.0 * points.batch * points.processes / time_ms
        in_time = slack * (1 + TOLERANCE) >= 2
        return np.where(in_time, np.maximum(load, exact) * full_rps, 0.0)

    def best_of(self, groups: Sequence[Group]) -> list[tuple[Ints, Floats]]:
        """As the protocol says."""
        return most_carried(groups, self.greatest_rps, MOST)

    def too_slow(self, slo_ms: float, fastest_ms: float, where: str) -> str:
        """As the protocol says."""
        return WorstCase().too_slow(slo_ms, fastest_ms, where)


def greatest_load_of_any(asked: Asked) -> Floats:
    """Returns load' of each workload, rounded up."""
    at_once = asked.slo_ms * asked.rate_rps / 1000
    low, high = np.zeros(at_once.shape), np.full(at_once.shape, MOST)
    for _ in range(HALVINGS):
        load = (low + high) / 2
        holds = load_of_backlog(at_once / load, asked.quantile) - margins(asked.quantile) >= load
        low, high = np.where(holds, load, low), np.where(holds, high, load)
    return np.where(asked.quantile <= GREATEST_MEASURED + TOLERANCE, high, 0.0)
