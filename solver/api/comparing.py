"""The front door to comparison: several planners on one problem, and the best bound that stands."""

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf

from ..allocation.assembly import UNKNOWN_BOUND
from ..comparison.disputes import Dispute, disputes, without_claim
from ..comparison.rows import Comparison as Comparison
from ..comparison.rows import Row, failure
from ..model.digest import reference
from ..model.errors import Finding, InputError
from ..model.objective import COST
from ..model.plan import Bound, Plan
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.stop_reason import StopReason
from ..performance.rule_parts import carries_the_parts
from ..planners import registry
from ..planners.planner import Planner
from .planners import planners_for
from .pricing import services_of
from .running import planned
from .task import Task, task_of


def compare(
    problem: Problem,
    planners: Sequence[str] | None = None,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    search_s: float = inf,
    at_hand: Sequence[Plan] = (),
    on_row: Callable[[Row], None] | None = None,
    source: str | None = None,
) -> Comparison:
    """
    Returns the answers of several planners and the best bound that stands; arguments as for `solve`.

    A planner that ends in an error is a row that says so, and the others stand. InputError is raised for what is wrong
    with the problem, with the names, or with a plan at hand that answers another problem.

    Parameters
    ----------
    planners
        Names of planners; None: all that plan a kind of sharing which the fleet allows.
    time_limit_s
        For each planner.
    search_s
        At most for a planner whose search has no end of its own.
    at_hand
        Plans of this problem that `solve` returned: rows of their planners, which are not run again.
    on_row
        Called with each planner's answer, or its failure, as it is ready.
    """
    chosen = [registry.planner_named(name) for name in dict.fromkeys(planners or planners_for(problem))]
    task = task_of(problem, profiles, time_limit_s, source, gap)
    rows = _rows(task, chosen, search_s, _by_planner(task, at_hand), on_row)
    comparable = [row for row in rows if isinstance(row, Plan)]
    if problem.settings.mps_rules != "free":
        own = {planner.name for planner in chosen if planner.own_batches}
        comparable = [row for row in comparable if row.planner not in own and carries_the_parts(task.resolved, row)]
    disputed = disputes(comparable)
    stand = [_as_it_stands(row, disputed) for row in rows]
    plans = [row for row in stand if isinstance(row, Plan)]
    not_run = tuple(planner.name for planner in chosen[len(rows) :])
    priced = next((plan for plan in plans if plan.prices is not None), None)
    services, error = (None, None) if priced is None else services_of(task.anew(), priced)
    return Comparison(
        tuple(stand),
        _strongest_bound(plans),
        services,
        not_run,
        disputed,
        error,
        priced is not None and not services and not error,
    )


def _by_planner(task: Task, at_hand: Sequence[Plan]) -> Mapping[str, Plan]:
    asked = reference(task.resolved.problem)
    wrong = [
        Finding(
            plan.problem.name,
            f"plan of {plan.planner}",
            f"answers another problem than {asked.name}, or another state of it; solve this one, or leave it out",
        )
        for plan in at_hand
        if plan.problem.sha256 != asked.sha256
    ]
    if wrong:
        raise InputError(wrong)
    return {plan.planner: plan for plan in at_hand}


def _rows(
    task: Task,
    planners: Sequence[Planner],
    search_s: float,
    at_hand: Mapping[str, Plan],
    on_row: Callable[[Row], None] | None,
) -> list[Row]:
    """Returns the planners' answers, up to the one in which the search was interrupted."""
    rows: list[Row] = []
    for planner in planners:
        known = at_hand.get(planner.name)
        rows.append(known or _row(task.anew(search_s if planner.searches_on else inf), planner))
        if on_row is not None:
            on_row(rows[-1])
        if known is None and isinstance(rows[-1], Plan) and rows[-1].search.stopped == StopReason.INTERRUPTED:
            break
    return rows


def _strongest_bound(plans: Sequence[Plan]) -> Bound:
    strongest = COST.strongest(plan.bound.cost_per_hour for plan in plans if plan.bound.cost_per_hour is not None)
    known = (plan.bound for plan in plans if plan.bound.cost_per_hour == strongest)
    return UNKNOWN_BOUND if strongest is None else next(known)


def _row(task: Task, planner: Planner) -> Row:
    """Returns what a planner answers, or how it failed; its problem has been resolved, so no input is to blame."""
    started = time.perf_counter()
    try:
        return planned(task, planner)
    except Exception as error:
        return failure(planner.name, error, time.perf_counter() - started)


def _as_it_stands(row: Row, disputed: Mapping[str, Dispute]) -> Row:
    return without_claim(row, disputed[row.planner]) if isinstance(row, Plan) and row.planner in disputed else row
