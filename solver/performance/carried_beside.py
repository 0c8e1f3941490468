"""
What residents of GPUs under MPS carry with batches that take so long: by the latency rule that a plan has to keep.

By the rule of execution a resident that is in time carries its throughput. By a rule of requests that wait it carries
what that rule allows one process whose batches take what a batch does beside neighbours that are always busy
(interference/beside_neighbours.py). Under either it carries no more with a longer latency or a smaller throughput: so
of a lower limit of the latency and an upper one of the throughput this is an upper limit.
"""

import numpy as np

from .interference.beside_neighbours import Promise
from .interference.prediction import Floats, Ints
from .latency_rules.rule import TOLERANCE
from .operating_points import OperatingPoints


def carried_beside(
    promise: Promise | None, limit_ms: Floats, workload: Ints, batch: Ints, latency_ms: Floats, throughput_rps: Floats
) -> Floats:
    """
    Returns requests/s that residents carry, 0 for those too slow; arrays are broadcast, `workload` has the whole shape.

    Parameters
    ----------
    promise
        What is promised of requests that wait; None: a resident in time carries its throughput.
    limit_ms
        Shape (workload of the problem,): what a batch may take, whatever the rate.
    """
    in_time = latency_ms <= limit_ms[workload] * (1 + TOLERANCE)
    if promise is None:
        return np.where(in_time, throughput_rps, 0.0)
    in_time, batch, latency_ms, throughput_rps = np.broadcast_arrays(
        in_time & (throughput_rps > 0), batch, latency_ms, throughput_rps
    )
    found = np.zeros(in_time.shape)
    batches = batch[in_time]
    points = OperatingPoints(
        batches,
        np.ones_like(batches),
        latency_ms[in_time],
        throughput_rps[in_time],
        np.full(batches.size, np.nan),
    )
    found[in_time] = promise.rule.greatest_rps(points, promise.asked.of(workload[in_time]))
    return found
