"""From what a planner decided to all that a plan says of itself: metrics, warnings, what is kept free and its cost."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..metrics.caveats import caveats
from ..metrics.plan_columns import PlanColumns
from ..metrics.plan_metrics import measure
from ..model.plan import Insurance, Plan, ShadowCapacity, Status
from ..model.problem import Problem
from ..model.profile import Profile

UNKNOWN: Mapping[str, float | None] = MappingProxyType({})


def completed(
    problem: Problem,
    plan: Plan,
    profiles: Sequence[Profile],
    columns: PlanColumns | None = None,
    cost_without: Mapping[str, float | None] = UNKNOWN,
) -> Plan:
    """
    Returns the plan with its metrics, warnings and labels, and what its standby processes and free partitions cost.

    Parameters
    ----------
    columns
        The plan's, if they were read before.
    cost_without
        What the planner's plan costs without standby processes (`shadow`), and without free partitions (`insurance`).
    """
    update: dict[str, Any] = {
        "metrics": measure(problem, plan, profiles, columns),
        "warnings": tuple(caveat.text for caveat in caveats(problem, plan, profiles)),
        "labels": problem.labels,
    }
    settings = problem.settings
    shadow, spares = map(cost_without.get, ("shadow", "insurance"))
    if settings.shadow_percent and plan.status is not Status.REFUSED:
        extra, percent = _more(plan.cost_per_hour, shadow), settings.shadow_percent
        update["shadow"] = ShadowCapacity(percent=percent, cost_without_per_hour=shadow, extra_cost_per_hour=extra)
    if settings.keeps_spares and plan.status is not Status.REFUSED:
        extra = _more(plan.cost_per_hour, spares)
        update["insurance"] = Insurance(cost_without_per_hour=spares, extra_cost_per_hour=extra)
    return plan.model_copy(update=update)


def _more(cost: float | None, than: float | None) -> float | None:
    return None if cost is None or than is None else cost - than
