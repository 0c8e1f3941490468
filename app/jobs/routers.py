"""What a worker is asked for by "What would a better router save?"; the planner is loaded there only."""

from collections.abc import Sequence
from dataclasses import dataclass

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

MOST_PLANNED = 3
"""Routers that are planned for, each for as long as a solve: a central queue carries what the one before it does."""


@dataclass(frozen=True)
class PlannedByRouter:
    """Dispatch and plan, the worst router first, and where some are not planned."""

    plans: tuple[tuple[str, Plan], ...]
    left_out: str | None


def planned_by_router(problem: Problem, profiles: Sequence[Profile]) -> PlannedByRouter:
    """Plans a problem for every router; errors as `api.plans_by_router` has them."""
    from sliceplan.solver.api import plans_by_router

    found = plans_by_router(problem, profiles=profiles)
    return PlannedByRouter(tuple((row.dispatch, row.plan) for row in found.rows), found.left_out)
