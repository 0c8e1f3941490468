"""
What planners for one GPU type share: they plan each type of the fleet alone, and the cheapest plan counts.

Published planners know one GPU type, no counts and no replica limits. Where the cheapest of their
plans violates those, the planner has found no plan, and says so; that proves nothing about other planners.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from ..allocation.allocated import AllocatedGpu, CutGpu, MpsGpu
from ..allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND, assemble, without_plan
from ..model.plan import Plan, Unserved
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.resolve import ResolvedProblem

Placed = list[CutGpu] | list[MpsGpu] | list[Unserved]
"""GPUs that serve everything, or the workloads that the planner cannot place."""


def cheapest_single_type(
    resolved: ResolvedProblem,
    planner: str,
    place: Callable[[ResolvedProblem, FleetType], Placed],
    sharing: Collection[Sharing],
) -> Plan:
    """
    Returns the cheapest of the plans that use one GPU type.

    Parameters
    ----------
    place
        Places all workloads on GPUs of one type. It is called only for types that can serve every workload.
    sharing
        Kinds of sharing that it plans; types that allow none of them are left out. Some type allows one.
    """
    plans: list[tuple[float, list[AllocatedGpu]]] = []
    without_place: dict[str, Unserved] = {}
    for entry in resolved.fleet:
        if not entry.sharing.intersection(sharing):
            continue
        placed = serve_all(resolved, entry, sharing) or place(resolved, entry)
        unserved = [item for item in placed if isinstance(item, Unserved)]
        cuts = [item for item in placed if not isinstance(item, Unserved) and item.workloads]
        unserved += [] if unserved else over_limits(resolved, planner, entry, cuts)
        if unserved:
            without_place |= {item.workload: item for item in unserved if item.workload not in without_place}
        else:
            plans.append((len(cuts) * entry.price_per_hour, cuts))
    if not plans:
        return without_plan(resolved, list(without_place.values()), planner=planner, search=HEURISTIC_DONE)
    _, best = min(plans, key=lambda plan: plan[0])
    return assemble(resolved, best, planner=planner, bound=UNKNOWN_BOUND, search=HEURISTIC_DONE)


def sizes_by_compute(resolved: ResolvedProblem, entry: FleetType) -> dict[int, int]:
    """Returns the plain partition sizes of a GPU type: compute slices -> index, largest first."""
    return {
        resolved.sizes[k].profile.compute_slices: k
        for k in resolved.sizes_of(entry.gpu.name)
        if resolved.sizes[k].profile.kind == "base"
    }


def without_plain_size(resolved: ResolvedProblem, sizes: Mapping[int, int]) -> list[Unserved]:
    """Returns the workloads that none of the plain sizes of a GPU type (`sizes_by_compute`) serves."""
    served = np.any(resolved.capacity_rps[:, list(sizes.values())] > 0, axis=1)
    return [
        Unserved(workload=workload.name, reason="no plain MIG profile, as this planner knows them, serves it")
        for workload, is_served in zip(resolved.problem.workloads, list(served), strict=True)
        if not is_served
    ]


def serve_all(resolved: ResolvedProblem, entry: FleetType, sharing: Collection[Sharing]) -> list[Unserved]:
    """Returns the workloads that no GPU of a type can serve when it is shared in one of these ways."""
    served = np.zeros(len(resolved.required_rps), dtype=bool)
    if "mig" in sharing:
        served |= np.any(resolved.capacity_rps[:, resolved.sizes_of(entry.gpu.name)] > 0, axis=1)
    if "exclusive" in sharing and (whole := resolved.whole_of(entry.gpu.name)) is not None:
        served |= resolved.capacity_rps[:, whole] > 0
    if "mps" in sharing and entry.gpu.name in resolved.mps:
        served |= resolved.mps[entry.gpu.name].usable
    return [
        Unserved(workload=workload.name, reason=_why_unserved(resolved, workload.model, entry.gpu.name, sharing))
        for workload, is_served in zip(resolved.problem.workloads, list(served), strict=True)
        if not is_served
    ]


def _why_unserved(resolved: ResolvedProblem, model: str, gpu: str, sharing: Collection[Sharing]) -> str:
    if "mps" in sharing and (model, gpu) in resolved.tables:
        return f"of {model} under MPS on {gpu} only measured shares are known, which this planner does not go by"
    return f"no partition of {gpu} alone serves it within its SLO"


def over_limits(
    resolved: ResolvedProblem, planner: str, entry: FleetType, cuts: Sequence[AllocatedGpu]
) -> list[Unserved]:
    """Returns the workloads for which the counts of GPUs or the limits on replicas do not hold."""
    workloads = resolved.problem.workloads
    if entry.available is not None and len(cuts) > entry.available:
        beyond = {w for cut in cuts[entry.available :] for w in cut.workloads}
        reason = (
            f"{planner} needs {len(cuts)} x {entry.gpu.name} and there are {entry.available}; "
            "another planner may need fewer"
        )
        return [Unserved(workload=workloads[w].name, reason=reason) for w in sorted(beyond)]
    replicas = Counter(w for cut in cuts for w in cut.workloads)
    return [
        Unserved(
            workload=workload.name,
            reason=f"{planner} gives it {replicas[w]} partitions and knows no replica limits "
            f"({workload.min_replicas} to {workload.max_replicas or 'any number'})",
        )
        for w, workload in enumerate(workloads)
        if not workload.min_replicas <= replicas[w] <= (workload.max_replicas or replicas[w])
    ]
