"""From what a planner decided to all that a plan says of itself: its metrics, and what its predictions rest on."""

from collections.abc import Sequence

from .caveats import caveats
from .metrics import measure
from .model.plan import Plan
from .model.problem import Problem
from .model.profile import Profile
from .plan_columns import PlanColumns


def completed(problem: Problem, plan: Plan, profiles: Sequence[Profile], columns: PlanColumns | None = None) -> Plan:
    """Returns the plan with its metrics and warnings. `columns`: the plan's, if they were read before."""
    metrics = measure(problem, plan, profiles, columns)
    return plan.model_copy(update={"metrics": metrics, "warnings": tuple(caveats(problem, plan, profiles))})
