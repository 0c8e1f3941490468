"""
The plan in which nobody takes turns, beside one in which some do.

A partition that serves one service back to back is one of a plan with turns, too, so the cheapest plan without is no
cheaper than the cheapest with them. A search for rounds can miss it all the same: where services ask for much, turns
save nothing, and it packs less well than a search that knows no rounds. So that search has the rest of the time where
nothing is proven yet, and the cheaper plan is kept. What it proves holds of plans without turns alone, and is not taken
over.
"""

from time import monotonic

from ...model.plan import Plan, Status
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import unheard
from ..exact import Exact
from .answers import with_bound
from .of_rounds import plan_rounds
from .priced_rounds import may_be_filled_by_prices
from .turns_at_hand import is_planned_without_turns

FOR_ROUNDS = 0.7
"""Part of the time that the search for rounds may take."""

FOR_ROUNDS_BY_PRICES = 0.9
"""The same where whole GPUs are filled by prices, some of them without turns, which packs as well as without any."""

OF_THE_REST = 0.8
"""Part of what is left then that the search without turns may take: some ends a little later, and its plan counts."""


def plan_rounds_or_none(resolved: ResolvedProblem, planner: str, *, time_limit_s: float) -> Plan:
    """Returns the cheapest plan that was found with turns or without, with a bound of all plans."""
    begun = monotonic()
    part = FOR_ROUNDS_BY_PRICES if may_be_filled_by_prices(resolved) else FOR_ROUNDS
    plan = plan_rounds(resolved, planner, time_limit_s=part * time_limit_s)
    left_s = time_limit_s - (monotonic() - begun)
    if plan.status in (Status.OPTIMAL, Status.INFEASIBLE) or left_s <= 0:
        return plan
    return cheaper_of(plan, planned_without_turns(resolved, left_s))


def planned_without_turns(resolved: ResolvedProblem, time_limit_s: float) -> Plan | None:
    """Returns the cheapest plan without turns that was found; None: there is none, or `exact` plans none."""
    if not is_planned_without_turns(resolved):
        return None
    # What it names on the way has a bound of its own: it is not to be shown as a plan with turns.
    with unheard():
        plan = Exact().plan(resolved, time_limit_s=OF_THE_REST * time_limit_s)
    return plan if plan.status in (Status.OPTIMAL, Status.FEASIBLE) else None


def cheaper_of(with_turns: Plan, without: Plan | None) -> Plan:
    """Returns the cheaper of two plans, with the bound of the first, that of all plans with turns or without."""
    if without is None or without.cost_per_hour is None:
        return with_turns
    if with_turns.cost_per_hour is not None and with_turns.cost_per_hour <= without.cost_per_hour * (1 + 1e-9):
        return with_turns
    update = {"planner": with_turns.planner, "prices": None, "status": Status.FEASIBLE, "search": with_turns.search}
    return with_bound(without.model_copy(update=update), with_turns.bound)
