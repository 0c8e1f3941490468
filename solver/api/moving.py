"""The library's front door to what changes while services run: the way to another plan, and plans that move little."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..analysis.replanning.at_hand import at_hand
from ..analysis.replanning.running_shares import running_fleet
from ..analysis.replanning.shares_at_hand import at_hand_beside_shares
from ..analysis.replanning.trade import Answer
from ..analysis.replanning.what_runs import in_the_fleet, running_gpus
from ..formats.profile_files import shipped_profiles
from ..model.collector import collector_paused
from ..model.counted import require_cost
from ..model.errors import Finding, InputError, NoPlanError, NoTimeError
from ..model.labels import labels_of_both
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.replan_report import ReplanReport
from ..model.transition import Durations, Strategy
from ..performance.latency_rules.server_sets import is_by_set
from ..performance.resolve import ResolvedProblem, resolve
from ..performance.unservable import unservable
from ..runtime.interruption import GRACE_S, best_so_far
from ..transition.inputs import refuse_unreplannable, refuse_unusable, refuse_used
from ..transition.tenancies import NONE_IDLE, IdleGpus
from ..transition.timing import UNCHANGED
from .finishing import finish_plan

if TYPE_CHECKING:
    from ..transition.planning import PlannedTransition


class WrongTransitionError(RuntimeError):
    """A transition that its replay refutes: a mistake in sliceplan, not in the input."""


def transition(
    old: Plan,
    new: Plan,
    *,
    idle: IdleGpus = NONE_IDLE,
    strategy: Strategy = "least-disturbance",
    durations: Durations = UNCHANGED,
    fixed_starts: bool = False,
    time_limit_s: float | None = None,
    sources: tuple[str, str] = ("old plan", "new plan"),
) -> "PlannedTransition":
    """
    Returns the steps from the plan that is running to another, replayed at every cut of their graph.

    Parameters
    ----------
    idle
        GPUs beside those of both plans that may be used on the way.
    fixed_starts
        Whether the new plan's MIG instances must start where it says.
    time_limit_s
        None: there is none. A way is an answer only when all of it is there and was replayed.
    sources
        Names of the two plans for error messages.

    Raises
    ------
    InputError
        If a plan has no GPUs, or GPUs that cannot be as it says.
    NoTimeError
        If the time limit came before the way was there.
    WrongTransitionError
        If the replay finds a mistake.
    """
    first, second = sources
    refuse_unusable({first: old, second if second != first else f"{second} (new)": new})
    refuse_used(idle, old, first)
    way = partial(_replayed, old, new, idle, strategy, durations, fixed_starts)
    if time_limit_s is None:
        return way()
    deadline = time.monotonic() + time_limit_s
    search: Callable[[], PlannedTransition | None] = way
    try:
        planned = best_so_far(search, lambda _: None, deadline=deadline)
    except TimeoutError:
        planned = None
    if planned is None:
        text = f"no way from {first} to {second} was found within {time_limit_s:g} s; give it more time"
        raise NoTimeError(text)
    return planned


def _replayed(
    old: Plan, new: Plan, idle: IdleGpus, strategy: Strategy, durations: Durations, fixed_starts: bool
) -> "PlannedTransition":
    """Returns the way from one plan to another, with every cut of its graph replayed."""
    # Within the search, as it takes long to load.
    from ..transition.planning import plan_transition
    from ..transition.replay import replay

    planned = plan_transition(old, new, idle=idle, strategy=strategy, durations=durations, fixed_starts=fixed_starts)
    if wrong := replay(old, planned.assigned, planned.transition):
        raise WrongTransitionError("; ".join(wrong[:5]))
    return planned


def replan(
    problem: Problem,
    running: Plan,
    *,
    move_price: float | None = None,
    most_moves: int | None = None,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    sources: tuple[str, str] = ("problem", "running plan"),
) -> tuple[Plan, ReplanReport]:
    """
    Returns the plan that trades cost against moved services, verified, and what it trades.

    Parameters
    ----------
    move_price
        USD per hour for each moved service; None: 0.
    most_moves
        Most services that may be moved; None: any number.
    profiles
        None: the shipped ones. A later profile wins over an earlier one of the same model and GPU.
    time_limit_s
        As for `api.solve`.
    gap
        As for `api.solve`, but of the cost with what the moves are worth.
    sources
        Names of the problem and the running plan for error messages.

    Raises
    ------
    InputError
        If the problem refers to something unknown or asks for what cannot be replanned, or the plan cannot run.
    NoPlanError
        If no plan moves as few services as asked, or a service cannot be served at all.
    WrongPlanError
        If the plan does not hold.
    """
    started = time.monotonic()
    limit_s = problem.settings.time_limit_s if time_limit_s is None else time_limit_s
    deadline = started + limit_s
    require_cost(problem, "replanning weighs dollars against moves", sources[0])
    known = shipped_profiles() if profiles is None else list(profiles)
    resolved = resolve(problem, known, sources[0])
    resolved = resolved if gap is None else replace(resolved, gap=gap)
    findings = [
        Finding(sources[0], f"fleet[{i}].cpu", f"is {entry.cpu}; replanning knows GPUs only: solve plans CPUs, too")
        for i, entry in enumerate(problem.fleet)
        if entry.cpu is not None
    ]
    if resolved.mps and is_by_set(problem.settings):
        why = f"is {problem.settings.dispatch}; with MPS in the fleet replanning knows weighted turns only"
        findings.append(Finding(sources[0], "settings.dispatch", why))
    if problem.settings.keeps_spares:
        findings.append(Finding(sources[0], "settings", "keeps partitions free, which replanning does not know"))
    if findings:
        raise InputError(findings)
    refuse_unreplannable(sources[1], running)
    if impossible := unservable(resolved):
        raise NoPlanError("\n".join(f"{one.workload}: {one.reason}" for one in impossible))
    with collector_paused():
        plan, report = _traded(resolved, running, move_price, most_moves, deadline)
        search = plan.search.model_copy(update={"time_limit_s": limit_s})
        runtime_s = round(time.monotonic() - started, 6)
        finished = finish_plan(problem, plan.model_copy(update={"search": search, "runtime_s": runtime_s}), known)
    return finished, report.model_copy(update={"labels": labels_of_both(running, problem)})


def _traded(
    resolved: ResolvedProblem, running: Plan, move_price: float | None, most_moves: int | None, deadline: float
) -> Answer:
    """Returns the plan that trades cost against moved services, not yet finished, and what it trades."""
    if resolved.mps:
        return _fewer_when_dealt(
            resolved, running, *_traded_beside_shares(resolved, running, move_price, most_moves, deadline), deadline
        )
    runs = running_gpus(resolved, running)

    def search() -> Answer:
        from ..analysis.replanning.replan import replanned  # within the search, as it takes long to load

        left = deadline - time.monotonic()
        return replanned(resolved, running, runs, move_price=move_price, most_moves=most_moves, time_limit_s=left)

    without_search = partial(at_hand, resolved, running, runs, move_price=move_price, most_moves=most_moves)
    plan, report = best_so_far(search, without_search, deadline=deadline)
    return _fewer_when_dealt(resolved, running, plan, report, deadline)


def _traded_beside_shares(
    resolved: ResolvedProblem, running: Plan, move_price: float | None, most_moves: int | None, deadline: float
) -> Answer:
    """As `_traded`, before GPUs are dealt anew, on fleets of which GPUs may be shared by MPS."""
    fleet = running_fleet(resolved, running)

    def search() -> Answer:
        from ..analysis.replanning.beside_shares import replanned_beside_shares

        left = deadline - time.monotonic()
        return replanned_beside_shares(
            resolved, running, fleet, move_price=move_price, most_moves=most_moves, time_limit_s=left
        )

    without_search = partial(
        at_hand_beside_shares, resolved, running, fleet, move_price=move_price, most_moves=most_moves
    )
    return best_so_far(search, without_search, deadline=deadline)


def _fewer_when_dealt(
    resolved: ResolvedProblem, running: Plan, plan: Plan, report: ReplanReport, deadline: float
) -> Answer:
    """Returns the answer with its GPUs dealt to those that run once more, where that moves fewer services."""
    # Dealing has no time after a search that was given up, which has come later. And it could give what moves a GPU
    # that the fleet no longer has.
    has_time = time.monotonic() < deadline + GRACE_S
    if not (
        has_time and report.moved and plan.gpus and all(in_the_fleet(resolved.problem, gpu) for gpu in running.gpus)
    ):
        return plan, report
    return best_so_far(partial(_fewer_moves, running, plan, report), lambda _: (plan, report), deadline=deadline)


def _fewer_moves(running: Plan, plan: Plan, report: ReplanReport) -> Answer:
    """Deals the GPUs of a plan that an unfinished search gave anew, where that moves fewer services."""
    from ..transition.planning import plan_transition  # within the search, as it takes long to load

    try:
        dealt = plan_transition(running, plan)
    except TimeoutError:
        return plan, report
    moved = dealt.transition.disturbed.services
    if len(moved) >= len(report.moved):
        return plan, report
    total = (plan.cost_per_hour or 0.0) + (report.move_price_per_hour or 0.0) * len(moved)
    least = report.least_total_per_hour
    update = {
        "moved": moved,
        "total_per_hour": total,
        "least_total_per_hour": None if least is None else min(least, total),
    }
    return dealt.assigned, report.model_copy(update=update)
