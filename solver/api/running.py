"""
Running a planner on a problem: what no planner serves and what this one refuses first, its search until it ends or is
given up, its plan finished, and what the plan would cost without what is kept free.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..allocation import assembly
from ..allocation.allocated import AllocatedGpu
from ..analysis.known_gpus import NOTHING, KnownGpus
from ..model.collector import collector_paused
from ..model.errors import Finding, InputError, described
from ..model.plan import Plan, Search, Status
from ..model.proving import proving_planner
from ..model.stop_reason import StopReason
from ..performance.latency_rules.execution import Execution
from ..performance.latency_rules.server_sets import is_by_set
from ..performance.resolve import ResolvedProblem, resolve
from ..performance.unservable import unservable, unservable_by_sums
from ..planners import registry
from ..planners.exact_plans.answers import of_known
from ..planners.planner import Planner
from ..runtime.interruption import Stopped, Watch, best_so_far
from ..runtime.progress import report
from .at_hand import at_hand_first, at_hand_last, better_of, ended_early
from .finishing import finished
from .task import Task

OnPlan = Callable[[Plan], object]
"""Is called with a plan that holds."""

UNSERVABLE = Search(stopped=StopReason.INFEASIBLE, time_limit_s=None, solver=None)
"""The proof is that of performance/unservable.py."""

FOR_COMPARING = 0.2
"""Part of the time for the plan without spares or standby processes, of which only the cost is shown."""

NO_SPARES = {"spare_services": 0, "spare_rate": 0.0, "spare_gpu_loss": False}


def exact() -> Planner:
    """Returns the planner that knows all that a problem may ask for."""
    return registry.planner_named("exact")


def refuse_unplannable(task: Task, source: str | None) -> None:
    """Raises InputError if the exact planner does not plan what is asked for here."""
    if reasons := exact().refuses(task.resolved):
        raise InputError([Finding(source or task.resolved.problem.name, "settings", reason) for reason in reasons])


def planned(task: Task, planner: Planner, known: KnownGpus = NOTHING, on_plan: OnPlan | None = None) -> Plan:
    """
    Runs a planner, measures its plan, verifies it and says what its standby processes and free partitions cost.

    `known`: GPUs that are the plan where the search ends without one; empty: there are none.
    """
    problem = task.resolved.problem
    asked = problem.settings
    if planner.refuses(task.resolved):
        return _verified(task, planner)
    # First, as it is quick where there is little time: what a limit leaves out shall not be what the plan costs more.
    without = {
        field: _cost_without(changes, task, planner)
        for field, changes, is_asked in (
            ("shadow", {"shadow_percent": 0.0}, asked.shadow_percent > 0),
            ("insurance", NO_SPARES, asked.keeps_spares),
        )
        if is_asked
    }
    with_costs = replace(task, cost_without=without)
    first = at_hand_first(with_costs, planner)
    if first is not None and first.gpus and not with_costs.left_s:
        return first
    plan = _verified(with_costs, planner, known, on_plan)
    if first is None and ended_early(plan):
        first = at_hand_last(with_costs, planner)
    return plan if first is None else better_of(plan, first)


def _cost_without(changes: Mapping[str, Any], task: Task, planner: Planner) -> float | None:
    """Returns what the planner's plan costs with other settings."""
    problem = task.resolved.problem
    changed = problem.model_copy(update={"settings": problem.settings.model_copy(update=changes)})
    resolved = resolve(changed, task.profiles)
    return _verified(replace(task, resolved=resolved, deadline=task.part(FOR_COMPARING)), planner).cost_per_hour


def _verified(task: Task, planner: Planner, known: KnownGpus = NOTHING, on_plan: OnPlan | None = None) -> Plan:
    with collector_paused():
        return _run_and_checked(task, planner, known, on_plan)


def _run_and_checked(task: Task, planner: Planner, known: KnownGpus, on_plan: OnPlan | None) -> Plan:
    started = time.perf_counter()
    resolved = task.resolved
    if impossible := unservable(resolved):
        plan = assembly.without_plan(resolved, impossible, planner=planner.name, search=UNSERVABLE)
    elif reasons := planner.refuses(resolved):
        plan = assembly.refused(resolved, "; ".join(reasons) + _instead(resolved, planner), planner=planner.name)
    else:
        search = partial(_searched, planner, task)
        watch = None if on_plan is None else Watch(partial(_so_far, task, planner, started), on_plan, _not_shown)
        plan = best_so_far(search, partial(_given_up, task, planner), deadline=task.deadline, watch=watch)
    if not plan.gpus and (gpus := known.build()):
        plan = _of_known(_with_points_of(known, resolved), plan, gpus)
    return finished(task, planner, _timed(_as_stated(plan, task), started))


def _searched(planner: Planner, task: Task) -> Plan:
    """
    Returns what a planner finds.

    One with a latency rule of its own plans by that, and one that adds up by what partitions carry in weighted turns,
    if that serves everything.
    """
    resolved, time_limit_s = task.resolved, task.left_s
    settings = resolved.problem.settings
    if not planner.own_rule and (planner.deals_by_state or not is_by_set(settings)):
        return planner.plan_from(resolved, task.start, time_limit_s=time_limit_s)
    own = resolved.with_rule(Execution(settings.slo_fraction)) if planner.own_rule else resolved
    if impossible := unservable_by_sums(own):
        return assembly.without_plan(resolved, impossible, planner=planner.name, search=assembly.HEURISTIC_DONE)
    return planner.plan_from(own, task.start, time_limit_s=time_limit_s)


def _so_far(task: Task, planner: Planner, started: float, plan: Plan) -> Plan | None:
    """Returns what a search offers as it would be returned if it ended now, verified; None: no plan."""
    return finished(task, planner, _timed(_as_stated(plan, task), started)) if plan.gpus else None


def _not_shown(error: BaseException) -> None:
    """Says why a plan so far is not handed on: it does not hold, mostly, which is a mistake in sliceplan."""
    report(f"a plan so far is not shown: {described(error)}")


def _timed(plan: Plan, started: float) -> Plan:
    return plan.model_copy(update={"runtime_s": round(time.perf_counter() - started, 6)})


def _with_points_of(known: KnownGpus, resolved: ResolvedProblem) -> ResolvedProblem:
    """Returns a problem with the operating points that known GPUs run."""
    if known.points is None:
        return resolved
    return replace(known.points, problem=resolved.problem, required_rps=resolved.required_rps)


def _of_known(resolved: ResolvedProblem, plan: Plan, gpus: Sequence[AllocatedGpu]) -> Plan:
    """
    Returns the plan of known GPUs, for a search that ended without one.

    They were found at the very edge of what fits, where a solver with its tolerances may also say that nothing does.
    """
    if plan.status is Status.INFEASIBLE:
        edge = plan.search.model_copy(update={"stopped": StopReason.GAP_LEFT})
        return of_known(resolved, gpus, edge, assembly.UNKNOWN_BOUND)
    return of_known(resolved, gpus, plan.search, plan.bound)


def _as_stated(plan: Plan, task: Task) -> Plan:
    """Returns the plan with the limit as its user stated it, of which the search had what was left."""
    if plan.search.time_limit_s is None:
        return plan
    return plan.model_copy(update={"search": plan.search.model_copy(update={"time_limit_s": task.time_limit_s})})


def _given_up(task: Task, planner: Planner, stopped: Stopped) -> Plan:
    search = Search(stopped=stopped, time_limit_s=task.time_limit_s, solver=None)
    return assembly.without_plan(task.resolved, (), planner=planner.name, search=search)


def _instead(resolved: ResolvedProblem, planner: Planner) -> str:
    """Names who takes a problem that a planner refuses: who proves it, or all if that is the planner; empty: nobody."""
    proving = proving_planner(resolved.problem)
    if not registry.planner_named(proving).refuses(resolved):
        return f"; use {proving}"
    if planner.name != proving:
        return ""
    turns = resolved.problem.settings.turns != "none"
    taking = [one for one in registry.planners().values() if one.takes_turns or not turns]
    names = [one.name for one in taking if not one.refuses(resolved)]
    return f"; without a proof: {', '.join(names)}" if names else ""
