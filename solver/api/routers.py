"""What a better router would save: one problem, planned for every way to deal requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..model.errors import Finding, InputError
from ..model.plan import Plan
from ..model.problem import Dispatch, Problem
from ..model.profile import Profile
from ..model.stop_reason import StopReason
from ..performance.latency_rules.rules import not_by_set
from .planning import solve

ROUTERS: tuple[Dispatch, ...] = ("random", "weighted_round_robin", "least_expected", "central")
"""From the worst to the best; the last two carry the same."""


@dataclass(frozen=True)
class RouterPlan:
    """The exact planner's plan for one router; a central queue has the one of least expected completion."""

    dispatch: Dispatch
    plan: Plan


@dataclass(frozen=True)
class RouterPlans:
    """Plans of one problem, router by router."""

    planned_for: Dispatch
    """The problem's own."""
    rows: tuple[RouterPlan, ...]
    left_out: str | None
    """Where routers that know every partition's state are not planned, if the problem asks for it; None: nowhere."""

    @property
    def own(self) -> Plan | None:
        """The plan for the problem's own router; None: an interruption came before."""
        return next((row.plan for row in self.rows if row.dispatch == self.planned_for), None)

    def as_data(self) -> dict[str, Any]:
        """Returns what is written as JSON."""
        return {
            "planned_for": self.planned_for,
            "routers": [
                {
                    "dispatch": row.dispatch,
                    "status": row.plan.status,
                    "gpus": row.plan.gpus_used if row.plan.gpus else None,
                    "cost_per_hour": row.plan.cost_per_hour,
                    "bound_per_hour": row.plan.bound.cost_per_hour,
                    "stopped": row.plan.search.stopped,
                }
                for row in self.rows
            ],
            "left_out": self.left_out,
        }


def plans_by_router(
    problem: Problem,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    on_plan: Callable[[RouterPlan], None] | None = None,
    source: str | None = None,
) -> RouterPlans:
    """
    Returns the exact planner's plan for each router, the worst first; arguments and errors as for `solve`.

    A central queue carries what least expected completion does, so it is not planned a second time.

    Parameters
    ----------
    time_limit_s
        For each router.
    on_plan
        Called with each plan as it is ready.

    Raises
    ------
    InputError
        Also if what the problem promises does not depend on the router.
    """
    if problem.settings.latency != "percentile":
        message = (
            f"is {problem.settings.latency!r}, which promises the same however requests are dealt; expected percentile"
        )
        raise InputError([Finding(source or problem.name, "settings.latency", message)])
    rows: list[RouterPlan] = []
    left_out = ""
    for dispatch in ROUTERS:
        settings = problem.settings.model_copy(update={"dispatch": dispatch})
        asked = problem.model_copy(update={"settings": settings})
        if left_out := "; ".join(not_by_set(asked)):
            break
        if dispatch == "central" and rows and rows[-1].dispatch == "least_expected":
            rows.append(replace(rows[-1], dispatch=dispatch))
            continue
        plan = solve(asked, profiles=profiles, time_limit_s=time_limit_s, gap=gap, source=source)
        rows.append(RouterPlan(dispatch, plan))
        if on_plan is not None:
            on_plan(rows[-1])
        if plan.search.stopped == StopReason.INTERRUPTED:
            break
    return RouterPlans(problem.settings.dispatch, tuple(rows), left_out or None)
