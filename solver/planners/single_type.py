"""
What planners for one GPU type share: they plan each type of the fleet alone, and the cheapest plan counts.

Published MIG planners know one GPU type, no counts and no replica limits. Where the cheapest of their
plans violates those, the planner has no plan, and says so; that proves nothing about other planners.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np

from ..assembly import UNKNOWN_BOUND, CutGpu, assemble, without_plan
from ..model.plan import Plan, Search, Status, Unserved
from ..performance.resolve import FleetType, ResolvedProblem

HEURISTIC_DONE = Search(stopped="heuristic_done", time_limit_s=None, solver=None)

Placed = list[CutGpu] | list[Unserved]
"""GPUs that serve everything, or the workloads that the planner cannot place."""


def cheapest_single_type(
    resolved: ResolvedProblem, planner: str, place: Callable[[ResolvedProblem, FleetType], Placed]
) -> Plan:
    """
    Returns the cheapest of the plans that use one GPU type.

    Parameters
    ----------
    place
        Places all workloads on GPUs of one type. It is called only for types that can serve every workload.
    """
    plans: list[tuple[float, list[CutGpu]]] = []
    refused: dict[str, Unserved] = {}
    for entry in resolved.fleet:
        placed = _serve_all(resolved, entry) or place(resolved, entry)
        unserved = [item for item in placed if isinstance(item, Unserved)]
        cuts = [item for item in placed if isinstance(item, CutGpu) and item.segments]
        unserved += [] if unserved else _over_limits(resolved, planner, entry, cuts)
        if unserved:
            refused |= {item.workload: item for item in unserved if item.workload not in refused}
        else:
            plans.append((len(cuts) * entry.price_per_hour, cuts))
    if not plans:
        return without_plan(
            resolved, list(refused.values()), planner=planner, status=Status.INFEASIBLE, search=HEURISTIC_DONE
        )
    _, best = min(plans, key=lambda plan: plan[0])
    return assemble(resolved, best, planner=planner, status=Status.FEASIBLE, bound=UNKNOWN_BOUND, search=HEURISTIC_DONE)


def sizes_by_compute(resolved: ResolvedProblem, entry: FleetType) -> dict[int, int]:
    """Returns the plain partition sizes of a GPU type: compute slices -> index, largest first."""
    return {
        resolved.sizes[k].mig.compute_slices: k
        for k in resolved.sizes_of(entry.gpu.name)
        if resolved.sizes[k].mig.kind == "base"
    }


def _serve_all(resolved: ResolvedProblem, entry: FleetType) -> list[Unserved]:
    sizes = resolved.sizes_of(entry.gpu.name)
    served = np.any(resolved.capacity_rps[:, sizes] > 0, axis=1)
    return [
        Unserved(workload=workload.name, reason=f"no partition of {entry.gpu.name} alone serves it within its SLO")
        for workload, is_served in zip(resolved.problem.workloads, list(served), strict=True)
        if not is_served
    ]


def _over_limits(resolved: ResolvedProblem, planner: str, entry: FleetType, cuts: list[CutGpu]) -> list[Unserved]:
    workloads = resolved.problem.workloads
    if entry.available is not None and len(cuts) > entry.available:
        beyond = {segment.workload for cut in cuts[entry.available :] for segment in cut.segments}
        reason = (
            f"{planner} needs {len(cuts)} x {entry.gpu.name} and there are {entry.available}; "
            "another planner may need fewer"
        )
        return [Unserved(workload=workloads[w].name, reason=reason) for w in sorted(beyond)]
    replicas = Counter(segment.workload for cut in cuts for segment in cut.segments)
    return [
        Unserved(
            workload=workload.name,
            reason=f"{planner} gives it {replicas[w]} partitions and knows no replica limits "
            f"({workload.min_replicas} to {workload.max_replicas or 'any number'})",
        )
        for w, workload in enumerate(workloads)
        if not workload.min_replicas <= replicas[w] <= (workload.max_replicas or replicas[w])
    ]
