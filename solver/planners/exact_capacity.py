"""From what is found and proven of the most requests/s that GPUs could carry to a plan."""

from ..allocation.assembly import UNKNOWN_BOUND, assemble, without_plan
from ..exact.capacity.answer import METHOD, MostCapacity
from ..exact.capacity.most_requests import solo_capacity
from ..exact.mig.decoding import alike_gpus
from ..model.judged import capacity_of
from ..model.plan import Plan, Search
from ..performance.resolve import ResolvedProblem

PROVEN = UNKNOWN_BOUND.model_copy(update={"method": METHOD})


def capacity_plan(resolved: ResolvedProblem, found: MostCapacity, search: Search, *, planner: str) -> Plan:
    """Returns the plan that could carry most, with its limit; without GPUs: none was found."""
    if found.partitions is None:
        plan = without_plan(resolved, (), planner=planner, search=search, bound=PROVEN)
    else:
        gpus = alike_gpus(resolved, found.patterns, found.partitions)
        plan = assemble(resolved, gpus, planner=planner, bound=PROVEN, search=search)
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
