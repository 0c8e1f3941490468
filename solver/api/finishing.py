"""What every plan goes through before it leaves the front door: measured, given its warnings, verified."""

from collections.abc import Mapping, Sequence

from ..allocation.adjusted_batches import with_adjusted_batches
from ..allocation.completed import UNKNOWN, completed
from ..analysis.by_objective import by_objective
from ..check import check
from ..check.violation import Violation
from ..metrics.plan_columns import plan_columns
from ..model.plan import Plan, PlanViolation, Status
from ..model.problem import Problem
from ..model.profile import Profile
from ..planners.planner import Planner
from .task import Task


class WrongPlanError(RuntimeError):
    """A planner returned a plan that violates the problem: a mistake in sliceplan, not in the input."""


def finish_plan(
    problem: Problem,
    plan: Plan,
    profiles: Sequence[Profile],
    *,
    own_model: bool = False,
    cost_without: Mapping[str, float | None] = UNKNOWN,
) -> Plan:
    """
    Returns the plan with all that it says of itself, verified.

    Parameters
    ----------
    own_model
        Whether its planner judges latencies by a model of its own: then a plan that misses SLOs says so (status
        `violating`). Else that is a mistake too.
    cost_without
        As for `completed`.

    Raises
    ------
    WrongPlanError
        If the plan does not hold.
    """
    columns = plan_columns(problem, plan)
    plan = completed(problem, plan, profiles, columns, cost_without)
    violations = check(problem, plan, profiles, columns)
    broken = [_broken(violation) for violation in violations if violation.excess is not None]
    if broken and own_model and len(broken) == len(violations):
        return plan.model_copy(update={"status": Status.VIOLATING, "violations": tuple(broken), "gap": None})
    if violations:
        raise WrongPlanError(f"{plan.planner} returned a plan that does not hold: {'; '.join(map(str, violations))}")
    return plan


def finished(task: Task, planner: Planner, plan: Plan) -> Plan:
    """Returns a planner's plan as it leaves: with the figure that is asked for and batches adjusted, verified."""
    problem = task.resolved.problem
    plan = by_objective(task.resolved, plan)
    if problem.settings.bda:
        plan = with_adjusted_batches(task.resolved, plan)
    own_model = planner.own_model or (planner.own_rule and problem.settings.latency != "execution")
    return finish_plan(problem, plan, task.profiles, own_model=own_model, cost_without=task.cost_without)


def _broken(violation: Violation) -> PlanViolation:
    return PlanViolation(
        gpu=violation.where, workload=violation.workload, message=violation.message, excess=violation.excess or 0.0
    )
