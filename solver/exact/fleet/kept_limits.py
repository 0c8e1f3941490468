"""Counts of GPUs and limits on replicas, as GPUs keep them; needs no solver."""

from collections import Counter
from collections.abc import Sequence

from ...allocation.allocated import AllocatedGpu
from ...performance.resolve import ResolvedProblem


def keeps_limits(resolved: ResolvedProblem, gpus: Sequence[AllocatedGpu]) -> bool:
    """Tells whether there are as many GPUs of each type, and every workload may have as many partitions."""
    used = Counter(gpu.gpu for gpu in gpus)
    if any(entry.available is not None and used[entry.gpu.name] > entry.available for entry in resolved.fleet):
        return False
    replicas = Counter(w for gpu in gpus for w in gpu.workloads)
    return all(
        workload.min_replicas <= replicas[w] <= (workload.max_replicas or replicas[w])
        for w, workload in enumerate(resolved.problem.workloads)
    )
