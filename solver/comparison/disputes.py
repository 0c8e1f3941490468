"""
Claims of planners that the plan of another contradicts.

A planner claims something of all plans when it states a bound, or that no plan exists. A plan that costs less than the
bound, or that exists, has passed `check`, which imports no planner; nothing else has checked the claim. So the claim is
disputed and not used, the plan stands, and which of the two is wrong is left open: each disputes the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND
from ..model.objective import COST
from ..model.plan import Plan, Status, Unserved
from ..model.stop_reason import StopReason

HOLDS = (Status.OPTIMAL, Status.FEASIBLE)

SAME_COST = 1e-9
"""Part of a bound by which a cost may be below it: sums of prices are rounded."""


@dataclass(frozen=True)
class Dispute:
    """A claim of one planner that the plan of another contradicts."""

    claimed_by: str
    contradicted_by: str
    message: str


def disputes(plans: Sequence[Plan]) -> dict[str, Dispute]:
    """Returns what is disputed of verified plans for one problem, by the planner that claims it."""
    held = [plan for plan in plans if plan.status in HOLDS and plan.cost_per_hour is not None]
    cheapest = min(held, key=lambda plan: plan.cost_per_hour or 0.0, default=None)
    if cheapest is None or cheapest.cost_per_hour is None:
        return {}
    claims = {plan.planner: _contradicted_claim(plan, cheapest.cost_per_hour) for plan in plans}
    plan_there = f"the plan of {cheapest.planner} costs ${_exactly(cheapest.cost_per_hour)}/h and passes check"
    return {
        planner: Dispute(planner, cheapest.planner, f"{claim}, but {plan_there}: one of the two is wrong")
        for planner, claim in claims.items()
        if claim
    }


def without_claim(plan: Plan, dispute: Dispute) -> Plan:
    """Returns a plan as that of a heuristic, which proves nothing."""
    update: dict[str, Any] = {
        "bound": UNKNOWN_BOUND.model_copy(update={"method": f"none that stands: {dispute.message}"}),
        "gap": None,
        "prices": None,
    }
    if plan.search.stopped in (StopReason.PROVED, StopReason.INFEASIBLE):
        update["search"] = plan.search.model_copy(update={"stopped": HEURISTIC_DONE.stopped})
    if plan.status is Status.OPTIMAL:
        update["status"] = Status.FEASIBLE
    elif plan.status is Status.INFEASIBLE:
        update["status"] = Status.NONE_FOUND
        update["unserved"] = tuple(Unserved(workload=one.workload, reason=dispute.message) for one in plan.unserved)
    return plan.model_copy(update=update)


def _contradicted_claim(plan: Plan, cost_per_hour: float) -> str | None:
    """Returns what a planner claims of all plans that cannot be so if one of this cost holds; None: nothing."""
    if plan.status is Status.INFEASIBLE:
        return "states that no plan exists"
    bound = plan.bound.cost_per_hour
    if bound is not None and COST.refutes(cost_per_hour, bound, SAME_COST):
        return f"states that {COST.no_plan} ${_exactly(bound)}/h"
    return None


def _exactly(usd: float) -> str:
    """Returns an amount in cents, or with the digits that tell it from others."""
    return f"{usd:,.2f}" if round(usd, 2) == usd else f"{usd:.12g}"
