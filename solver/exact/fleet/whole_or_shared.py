"""
GPUs that may be whole or shared by MPS, of services that are one partition each: whole ones need not be looked for.

Let a GPU type be allowed both ways, and let a resident alone on it, at its best share and batch size, carry as much of
each service as the whole GPU does. In any plan, exchange each whole GPU for one that is shared by its one service, at
that share. It is of the same type and so costs the same, every service has one partition as before, which carries no
less, and no other GPU is touched. So a cheapest plan is among those without whole GPUs of that type, and a bound for
these is one for all. It also lets services be customers of surroundings (surroundings/customers.py).
"""

from dataclasses import replace

import numpy as np

from ...performance.alone import alone_on
from ...performance.resolve import ResolvedProblem


def shared_instead_of_whole(resolved: ResolvedProblem) -> ResolvedProblem:
    """Returns a problem with the same least cost in which whole GPUs serve nobody where shares do as well."""
    settings, workloads = resolved.problem.settings, resolved.problem.workloads
    if settings.mps_rules != "free" or any(workload.max_replicas != 1 for workload in workloads):
        return resolved
    capacity = resolved.capacity_rps.copy()
    for k, size in enumerate(resolved.sizes):
        mps = resolved.mps.get(size.gpu)
        if mps is None or size.mig is not None or size.cores is not None:
            continue
        if (capacity[:, k] <= alone_on(mps, resolved.limit_ms).greatest_rps).all():
            capacity[:, k] = 0.0
    return replace(resolved, capacity_rps=capacity) if np.any(capacity != resolved.capacity_rps) else resolved
