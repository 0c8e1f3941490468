"""What a plan could carry; needs no solver."""

from collections.abc import Mapping

from ...exact.capacity.solo import solo_capacity
from ...model.judged import capacity_of
from ...model.plan import Plan
from ...performance.resolve import ResolvedProblem


def with_capacity(
    resolved: ResolvedProblem, plan: Plan, *, limit: float | None = None, one_more: Mapping[str, float] | None = None
) -> Plan:
    """
    Returns a plan with what it could carry, and what is proven of all plans.

    Parameters
    ----------
    limit
        Weighted requests/s that no plan exceeds; None: nothing is proven.
    one_more
        GPU type -> limit with one more GPU of it; None: nothing is proven.
    """
    settings = resolved.problem.settings
    solo = None
    if settings.capacity_weights == "solo" and plan.gpus:
        names = [workload.name for workload in resolved.problem.workloads]
        solo = dict(zip(names, solo_capacity(resolved).tolist(), strict=True))
    capacity = capacity_of(plan, settings.capacity_weights, solo, limit=limit, one_more=one_more or {})
    return plan.model_copy(update={"capacity": capacity})
