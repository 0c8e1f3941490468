"""
Every planner's plan by the objective of its problem.

Most planners look for least cost, or fewest GPUs. Where the objective is capacity, what their plans could carry is
measured as that of any other plan, and what they claim of costs is left out: it is of another question. That no plan
exists is the same claim with any objective, and stands.
"""

from typing import Any

from ..allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND
from ..model.counted import asks_for_capacity
from ..model.plan import Plan, Status
from ..model.stop_reason import StopReason
from ..performance.resolve import ResolvedProblem
from ..planners.exact_plans.stated_capacity import with_capacity

NO_CLAIM = UNKNOWN_BOUND.model_copy(update={"method": "none: this planner does not look for most capacity"})


def by_objective(resolved: ResolvedProblem, plan: Plan) -> Plan:
    """Returns a plan with what its problem's objective asks to be said of it."""
    if not asks_for_capacity(resolved.problem) or plan.capacity is not None:
        return plan
    update: dict[str, Any] = {"bound": NO_CLAIM, "gap": None, "prices": None}
    if plan.status is Status.OPTIMAL:
        update["status"] = Status.FEASIBLE
    if plan.gpus and plan.search.stopped in (StopReason.PROVED, StopReason.GAP_REACHED):
        update["search"] = plan.search.model_copy(update={"stopped": HEURISTIC_DONE.stopped})
    return with_capacity(resolved, plan.model_copy(update=update))
