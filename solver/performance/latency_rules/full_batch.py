"""What rules of queues have in common: batches of one time, and the point that carries most."""

from collections.abc import Callable

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints
from .rule import TOLERANCE, Asked

AT_ONCE = 1 << 20
"""Pairs of a workload and a point that are looked at together."""


def batch_time_ms(points: OperatingPoints) -> Floats:
    """
    Returns the time that every batch of a point is counted to take, shape (point,).

    The latency of its largest batch, or what its throughput says where that is longer: published latencies are rounded.
    """
    return np.maximum(points.latency_ms, 1000.0 * points.batch * points.processes / points.capacity_rps)


def most_carried(
    points: OperatingPoints, asked: Asked, greatest_rps: Callable[[OperatingPoints, Asked], Floats]
) -> tuple[Ints, Floats]:
    """Returns the point that carries most for each workload, and how much, as `LatencyRule.best`."""
    best, carried = np.full(asked.slo_ms.shape, -1, dtype=np.int64), np.zeros(asked.slo_ms.shape)
    quick = np.flatnonzero(2 * batch_time_ms(points) <= asked.slo_ms.max(initial=0.0) * (1 + TOLERANCE))
    order = quick[np.lexsort((points.processes[quick], points.batch[quick], points.latency_ms[quick]))]
    if not order.size:
        return best, carried
    of_order = OperatingPoints(
        points.batch[order],
        points.processes[order],
        points.latency_ms[order],
        points.capacity_rps[order],
        points.memory_mib[order],
    )
    step = max(AT_ONCE // order.size, 1)
    for begin in range(0, asked.slo_ms.size, step):
        rows = np.arange(begin, min(begin + step, asked.slo_ms.size))
        rps = greatest_rps(of_order, asked.of(rows).of_each_point)
        at = np.argmax(rps, axis=1)
        most = rps[np.arange(rows.size), at]
        carried[rows] = most
        best[rows] = np.where(most > 0, order[at], -1)
    return best, carried
