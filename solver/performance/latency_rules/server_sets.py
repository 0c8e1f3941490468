"""
Percentiles where a router knows every server's state: what the partitions of a service carry is no sum.

Dealt by least expected completion, or from one central queue, a service's partitions carry what the formula of
queueing/server_set.py says of all of them. A set also carries what its partitions do in weighted turns (percentile.py):
no plan for turns was ever late under a better router, which is measured (0 of 1,061 services), not proven; and a single
partition gets all of its requests, however they are dealt. So a set holds a rate R if either is at least R.
"""

from dataclasses import dataclass

import numpy as np

from ...model.problem import Settings
from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints
from ..queueing.server_set import alone_loads, set_loads
from .any_router import AnyRouter
from .full_batch import batch_time_ms
from .percentile import Percentile
from .rule import Asked

BY_STATE = ("least_expected", "central")
"""Ways to deal requests by what every server has before it."""


def is_by_set(settings: Settings) -> bool:
    """Tells whether what a service's partitions carry is a function of all of them, and no sum."""
    return settings.latency == "percentile" and settings.dispatch in BY_STATE


def carried_together(rule: Percentile, points: OperatingPoints, workload: Ints, asked: Asked) -> Floats:
    """
    Returns what each partition carries beside the others of its workload; together they carry the sum.

    Where the set's formula says more than turns do, all of a set have one load; else it is what each does in turns.

    Parameters
    ----------
    rule
        That of turns.
    points
        Shape (partition,).
    workload
        Shape (partition,): index into what is asked.
    """
    in_turns = rule.greatest_rps(points, asked.of(workload))
    time_ms = batch_time_ms(points)
    full_rps = 1000.0 * points.batch * points.processes / time_ms
    load = set_loads(workload, points.batch, points.processes, asked.slo_ms[workload] / time_ms, asked.quantile)
    number = asked.slo_ms.size
    is_more = load * np.bincount(workload, full_rps, number) >= np.bincount(workload, in_turns, number)
    return np.where(is_more[workload], load[workload] * full_rps, in_turns)


@dataclass(frozen=True)
class OwnKind(AnyRouter):
    """
    An estimate to choose points by, and no promise: what each carries beside others of its own kind.

    Of as many as its workload needs, together (`alone_loads`), or in turns. A plan by it is judged by
    `carried_together`.
    """

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """Returns the estimates."""
        time_ms = batch_time_ms(points)
        full_rps = 1000.0 * points.batch * points.processes / time_ms
        arrays = (points.batch, points.processes, asked.slo_ms / time_ms, asked.quantile, full_rps, asked.rate_rps)
        batch, processes, slack, quantile, full, rate = np.broadcast_arrays(*arrays)
        together = alone_loads(batch, processes, slack, quantile, full, rate) * full
        in_turns = Percentile(by_turns=True, shared=self.shared).greatest_rps(points, asked)
        return np.asarray(np.maximum(together, in_turns))
