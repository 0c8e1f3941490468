"""
Claims of planners that the plan of another contradicts.

A planner claims something of all plans when it states a bound, or that no plan exists. A plan that is better than the
bound, or that exists, has passed `check`, which imports no planner; nothing else has checked the claim. So the claim is
disputed and not used, the plan stands, and which of the two is wrong is left open: each disputes the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND
from ..model.judged import judged
from ..model.objective import COST, Sense
from ..model.plan import Plan, Status, Unserved
from ..model.stop_reason import StopReason

HOLDS = (Status.OPTIMAL, Status.FEASIBLE)

SAME = 1e-9
"""Part of a bound by which a plan may be better: sums are rounded."""


@dataclass(frozen=True)
class Dispute:
    """A claim of one planner that the plan of another contradicts."""

    claimed_by: str
    contradicted_by: str
    message: str


def disputes(plans: Sequence[Plan]) -> dict[str, Dispute]:
    """Returns what is disputed of verified plans for one problem, by the planner that claims it."""
    held = [(plan, own) for plan in plans if plan.status in HOLDS and (own := judged(plan).value) is not None]
    if not held:
        return {}
    sign = 1 if judged(held[0][0]).objective.sense is Sense.LEAST else -1
    best, value = min(held, key=lambda one: sign * one[1])
    claims = {plan.planner: _contradicted_claim(plan, value) for plan in plans}
    plan_there = f"the plan of {best.planner} {_has(best, value)} and passes check"
    return {
        planner: Dispute(planner, best.planner, f"{claim}, but {plan_there}: one of the two is wrong")
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
    if plan.capacity is not None:
        update["capacity"] = plan.capacity.model_copy(update={"limit": None, "gap": None, "one_more": {}})
    if plan.search.stopped in (StopReason.PROVED, StopReason.INFEASIBLE):
        update["search"] = plan.search.model_copy(update={"stopped": HEURISTIC_DONE.stopped})
    if plan.status is Status.OPTIMAL:
        update["status"] = Status.FEASIBLE
    elif plan.status is Status.INFEASIBLE:
        update["status"] = Status.NONE_FOUND
        update["unserved"] = tuple(Unserved(workload=one.workload, reason=dispute.message) for one in plan.unserved)
    return plan.model_copy(update=update)


def _contradicted_claim(plan: Plan, value: float) -> str | None:
    """Returns what a planner claims of all plans that cannot be so if one of this value holds; None: nothing."""
    if plan.status is Status.INFEASIBLE:
        return "states that no plan exists"
    own = judged(plan)
    if own.bound is None or not own.objective.refutes(value, own.bound, SAME):
        return None
    bound = f"${_exactly(own.bound)}/h" if own.objective == COST else f"{_exactly(own.bound)} {own.objective.unit}"
    return f"states that {own.objective.no_plan} {bound}"


def _has(plan: Plan, value: float) -> str:
    objective = judged(plan).objective
    return f"costs ${_exactly(value)}/h" if objective == COST else f"could carry {_exactly(value)} {objective.unit}"


def _exactly(amount: float) -> str:
    """Returns an amount in cents, or with the digits that tell it from others."""
    return f"{amount:,.2f}" if round(amount, 2) == amount else f"{amount:.12g}"
