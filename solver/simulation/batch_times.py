"""
The times of batches that are not full, as far as the profiles have them.

A profile says of some batch sizes on a partition, with as many processes, what latency and throughput they have.
Between two sizes that it knows the time lies on a straight line; below the smallest it is that one's. Under MPS a
profile knows nothing of a batch beside neighbours, and the plan's latency stands. That a small batch takes less is no
promise that latencies are shorter: a batch that is sent early is one that is not filled.
"""

from collections.abc import Iterable

import numpy as np

from ..model.plan import Partition, PlannedGpu, Served
from ..model.problem import Problem
from ..model.profile import Profile
from ..performance.interference.prediction import Floats
from ..performance.prediction import predict_batches
from .server import BatchTimes


def measured_batch_times(problem: Problem, profiles: Iterable[Profile]) -> BatchTimes:
    """Returns where the times of a problem's services are found; a later profile wins over an earlier one."""
    known = problem.profiles_over(profiles)
    models = {workload.name: workload.model for workload in problem.workloads}

    def times(gpu: PlannedGpu, partition: Partition, served: Served) -> Floats | None:
        profile = known.get((models.get(served.workload, ""), gpu.gpu))
        if profile is None or gpu.sharing == "mps":
            return None
        sizes = range(1, served.batch + 1)
        found = [
            (size, max(one.latency_ms, 1000 * size * served.processes / one.capacity_rps))
            for size, one in zip(sizes, predict_batches(profile, partition.kind, sizes, served.processes), strict=True)
            if one is not None
        ]
        if not found:
            return None
        known_sizes, known_ms = zip(*found, strict=True)
        between: Floats = np.interp(np.arange(served.batch + 1), known_sizes, known_ms)
        return between

    return times
