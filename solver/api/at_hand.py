"""
The plan and the bound that a planner has at hand without a search, beside what a search finds.

They come before a search with so little time that loading solvers may take all of it, and after one that time ended
without a plan or with its first ones. The plan is checked under all rules of the problem as any other; one that does
not hold is not shown.
"""

import time
from functools import partial
from threading import Event

from ..allocation.assembly import UNKNOWN_BOUND, without_plan
from ..model.collector import collector_paused
from ..model.errors import described
from ..model.judged import judged
from ..model.plan import Bound, Plan, Search, Status
from ..model.stop_reason import StopReason
from ..performance.unservable import unservable
from ..planners.exact_plans.answers import with_bound
from ..planners.planner import Planner
from ..runtime.interruption import Stopped, best_so_far, interruptible_by, offer
from ..runtime.progress import report
from .finishing import WrongPlanError, finished
from .task import Task

FIRST_S = 1.0
"""Time limits below which what is at hand comes first."""

EARLY_GAP = 0.1
"""A search that time ends with a gap above this may not have come to plans as good as those at hand."""

AT_HAND_S = 0.5
"""Seconds for what is at hand, also beyond the end of a search: all together are within 1 s of its limit."""


def at_hand_first(task: Task, planner: Planner) -> Plan | None:
    """Returns what is at hand before a search that may be too short; None: it is not, or nothing serves everything."""
    return _within_time(task, planner) if task.left_s < FIRST_S and not unservable(task.resolved) else None


def ended_early(plan: Plan) -> bool:
    """Tells whether time ended a search before what is at hand could be nothing new."""
    if plan.status is Status.TIMEOUT:
        return True
    if plan.search.stopped is not StopReason.TIME_LIMIT or plan.status is not Status.FEASIBLE:
        return False
    gap = judged(plan).gap
    return gap is None or gap > EARLY_GAP


def at_hand_last(task: Task, planner: Planner) -> Plan | None:
    """Returns what is at hand after a search that time ended early; what ended the search does not end this too."""
    with interruptible_by(Event()):
        return _within_time(task, planner)


def better_of(searched: Plan, at_hand: Plan) -> Plan:
    """Returns the better plan with the stronger bound, and why the search ended, unless that bound proves the plan."""
    best = searched
    if _is_better(at_hand, searched):
        search = searched.search
        if at_hand.status is Status.OPTIMAL:
            search = search.model_copy(update={"stopped": StopReason.PROVED})
        elif searched.status is Status.INFEASIBLE:  # at the very edge of what fits, where solvers have tolerances
            search = search.model_copy(update={"stopped": StopReason.GAP_LEFT})
        runtime_s = round(searched.runtime_s + at_hand.runtime_s, 6)
        best = at_hand.model_copy(update={"search": search, "runtime_s": runtime_s})
    if best.capacity is not None:
        return _with_limit(best, searched, at_hand)
    bound = _greater(searched.bound, at_hand.bound)
    if best is not searched and bound != at_hand.bound:  # its prices prove less
        best = best.model_copy(update={"prices": None})
    return with_bound(best, bound)


def _is_better(plan: Plan, than: Plan) -> bool:
    """Tells whether there is a plan, and it is better by the objective than another, or there is no other."""
    own, other = judged(plan), judged(than)
    if own.value is None or other.value is None:
        return own.value is not None
    return own.objective.is_better(own.value, other.value) and own.objective.gap(other.value, own.value) != 0.0


def _with_limit(best: Plan, *answers: Plan) -> Plan:
    """Returns a plan of most capacity with the strongest of the limits of some answers."""
    assert best.capacity is not None
    limits = [one.capacity.limit for one in answers if one.capacity is not None and one.capacity.limit is not None]
    own = judged(best)
    limit = own.objective.strongest(limits)
    capacity = best.capacity.model_copy(update={"limit": limit, "gap": own.objective.gap(own.value, limit)})
    return best.model_copy(update={"capacity": capacity})


def _within_time(task: Task, planner: Planner) -> Plan | None:
    nothing = partial(_nothing, task, planner, UNKNOWN_BOUND)
    return best_so_far(partial(_found, task, planner), nothing, deadline=time.monotonic() + AT_HAND_S)


def _nothing(task: Task, planner: Planner, bound: Bound, stopped: Stopped) -> Plan:
    search = Search(stopped=stopped, time_limit_s=task.time_limit_s, solver=None)
    return without_plan(task.resolved, (), planner=planner.name, search=search, bound=bound)


def _found(task: Task, planner: Planner) -> Plan | None:
    started = time.perf_counter()
    with collector_paused():
        known = planner.at_hand(task.resolved)
        if known is None:
            return None
        best = _nothing(task, planner, known.bound, StopReason.TIME_LIMIT)
        offer(partial(_ended, best, started))
        for plan in known.plans():
            search = plan.search.model_copy(update={"time_limit_s": task.time_limit_s})
            try:
                found = finished(task, planner, plan.model_copy(update={"search": search}))
            except WrongPlanError as error:
                report(f"a plan at hand is not shown: {described(error)}")
                continue
            best = found if _is_better(found, best) else best
            offer(partial(_ended, best, started))
            if best.status is Status.OPTIMAL:
                break
    return _ended(best, started)


def _ended(plan: Plan, started: float, stopped: Stopped = StopReason.TIME_LIMIT) -> Plan:
    """Returns a plan with the time that it took, and why no better one came."""
    runtime_s = round(time.perf_counter() - started, 6)
    search = plan.search
    if search.stopped is not StopReason.PROVED:
        search = search.model_copy(update={"stopped": stopped})
    return plan.model_copy(update={"runtime_s": runtime_s, "search": search})


def _greater(searched: Bound, at_hand: Bound) -> Bound:
    """Returns the greater of two bounds on the cost, of equals the first; if neither is known, why."""
    if at_hand.cost_per_hour is None:
        return at_hand if searched == UNKNOWN_BOUND else searched
    return searched if (searched.cost_per_hour or 0.0) >= at_hand.cost_per_hour else at_hand
