"""From what is found and proven of the most requests/s that GPUs could carry to a plan."""

from collections.abc import Iterator

from ..allocation.allocated import AlikeGpus, AllocatedGpu
from ..allocation.assembly import UNKNOWN_BOUND, assemble, without_plan
from ..exact.capacity.answer import METHOD, MostCapacity
from ..exact.capacity.most_requests import solo_capacity
from ..exact.mig.decoding import alike_gpus
from ..exact.shared_capacity import answer as shared_capacity
from ..model.judged import capacity_of
from ..model.plan import Plan, Search
from ..performance.resolve import ResolvedProblem

PROVEN, UNDER_MPS = (UNKNOWN_BOUND.model_copy(update={"method": method}) for method in (METHOD, shared_capacity.METHOD))

NO_BOUND = UNKNOWN_BOUND.model_copy(update={"method": "none: nothing was proven of the most that could be carried"})


def capacity_plan(resolved: ResolvedProblem, found: MostCapacity, search: Search, *, planner: str) -> Plan:
    """Returns the plan that could carry most, with its limit; without GPUs: none was found."""
    bound = UNDER_MPS if resolved.mps else PROVEN
    gpus: list[AllocatedGpu | AlikeGpus] = [*found.shared]
    if found.partitions is not None:
        gpus += alike_gpus(resolved, found.patterns, found.partitions)
    if gpus:
        plan = assemble(resolved, gpus, planner=planner, bound=bound, search=search)
    else:
        plan = without_plan(resolved, (), planner=planner, search=search, bound=bound)
    return with_capacity(resolved, plan, found)


def with_capacity(resolved: ResolvedProblem, plan: Plan, found: MostCapacity | None = None) -> Plan:
    """Returns a plan with what it could carry, and what is proven of all plans; None: nothing is."""
    settings = resolved.problem.settings
    solo = None
    if settings.capacity_weights == "solo" and plan.gpus:
        names = [workload.name for workload in resolved.problem.workloads]
        solo = dict(zip(names, solo_capacity(resolved).tolist(), strict=True))
    limit, one_more = (None, {}) if found is None else (found.limit, found.one_more)
    capacity = capacity_of(plan, settings.capacity_weights, solo, limit=limit, one_more=one_more)
    return plan.model_copy(update={"capacity": capacity})


MOST_SERVICES = 200
"""Under MPS: prices of more have no time to settle."""


def not_shared_capacity(resolved: ResolvedProblem) -> Iterator[str]:
    """Yields why most capacity is not looked for on a fleet with GPUs under MPS, each reason the rest of a sentence."""
    settings, services = resolved.problem.settings, len(resolved.problem.workloads)
    if others := [entry.gpu.name for entry in resolved.fleet if entry.sharing != {"mps"}]:
        yield f"on fleets under mps alone, or without it; {', '.join(others)} may be divided otherwise too"
    if settings.latency != "execution":
        yield f"under mps for settings.latency: execution only; it is {settings.latency}"
    if settings.mps_rules != "free":
        yield f"under mps for settings.mps_rules: free only; they are {settings.mps_rules}"
    if settings.shadow_percent:
        yield f"under mps without standby processes only; settings.shadow_percent is {settings.shadow_percent:g}"
    if services > MOST_SERVICES:
        yield f"under mps of up to {MOST_SERVICES} services; there are {services:,}"
