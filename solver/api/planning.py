"""
The library's front door: solve one problem, or put all planners side by side.

Within `interruption.interruptible_by(event)` every search here ends with its best answer so far when the event is set.

A time limit counts from the call. It holds for all that the call searches; whatever does not keep it is given up
(interruption.py). The answer is then built and verified, which for 2,000 services takes a few tenths of a second.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..allocation import assembly
from ..allocation.allocated import AllocatedGpu
from ..allocation.completed import completed
from ..analysis.capacity import (
    Gpus,
    GrowthLimits,
    everything_shed,
    growth_limits,
    least_value_to_shed,
    require_counts,
    scaled,
    short_of,
)
from ..analysis.pricing import price_report
from ..check import check
from ..check.violation import Violation
from ..comparison.disputes import Dispute, disputes, without_claim
from ..comparison.rows import Comparison as Comparison
from ..comparison.rows import Row, failure
from ..formats.profile_files import shipped_profiles
from ..metrics.plan_columns import plan_columns
from ..model.capacity_report import HeadroomReport, Shed, ShedReport
from ..model.collector import collector_paused
from ..model.errors import Finding, InputError, described
from ..model.plan import Bound, Plan, PlanViolation, Prices, Search, Status
from ..model.price_report import PriceReport
from ..model.problem import Problem
from ..model.profile import Profile
from ..performance.resolve import ResolvedProblem, resolve
from ..performance.unservable import unservable
from ..planners import registry
from ..planners.exact import unproven
from ..planners.facts import PlannerFacts
from ..planners.planner import Planner
from ..runtime.freed_memory import keep_freed_memory
from ..runtime.interruption import Stopped, Watch, best_so_far, interruptible_by
from ..runtime.progress import report

OnPlan = Callable[[Plan], object]
"""Is called with a plan that holds."""

UNSERVABLE = Search(stopped="infeasible", time_limit_s=None, solver=None)
"""The proof is that of performance/unservable.py."""


class WrongPlanError(RuntimeError):
    """A planner returned a plan that violates the problem: a mistake in sliceplan, not in the input."""


def solve(
    problem: Problem,
    planner: str = "exact",
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    start: Plan | Prices | None = None,
    on_plan: OnPlan | None = None,
    source: str | None = None,
) -> Plan:
    """
    Returns the plan of one planner, verified.

    Parameters
    ----------
    profiles
        None: the shipped ones. A later profile wins over an earlier one of the same model and GPU.
    time_limit_s
        None: the problem's own limit.
    gap
        With which an exact search ends, as a fraction of its bound; None: the problem's own.
    start
        A plan of a similar problem, or its slice prices. They are where the search begins; they change the time that it
        takes, and which of the cheapest plans it finds, and not what is proven.
    on_plan
        Called with the best plan so far, verified, while the search goes on and finds better ones or proves more: what
        the answer would be if it were ended then (`stopped` is "interrupted"). The answer itself is returned only.
        Making them takes some of the search's time; None: they are not made.
    source
        Where the problem comes from, for error messages; None: its name.

    Raises
    ------
    InputError
        If the problem refers to something unknown.
    WrongPlanError
        If the plan does not hold.
    """
    task = _task(problem, profiles, time_limit_s, source, gap)
    plan = start if isinstance(start, Plan) else None
    prices = start.prices if isinstance(start, Plan) else start
    task = replace(task, resolved=replace(task.resolved, known_prices=prices, known_plan=plan))
    return _planned(task, registry.planner_named(planner), on_plan=on_plan)


def price(
    problem: Problem,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    source: str | None = None,
) -> tuple[Plan, PriceReport | None]:
    """
    Returns the exact plan and what each service costs in it. Else as `solve`.

    None: no plan was found; or, where the plan has slice prices, no time was left to say what each service costs.

    InputError is raised also where there are no slice prices: with partitions that are kept free.
    """
    task = _task(problem, profiles, time_limit_s, source, gap)
    if problem.settings.keeps_spares:
        message = "keeps partitions free; slice prices are known for fleets without such partitions"
        raise InputError([Finding(source or problem.name, "settings", message)])
    plan = _planned(replace(task, deadline=task.part(1 - FOR_SERVICES)), _exact())
    return plan, _reported(task, plan)


@dataclass(frozen=True)
class Headroom:
    """How far all rates can grow on the GPUs that there are, and the plan for that."""

    report: HeadroomReport
    problem: Problem | None
    """The problem with the grown rates; None: no factor was found that fits."""
    plan: Plan | None


def headroom(
    problem: Problem,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    source: str | None = None,
) -> Headroom:
    """Returns by which factor all rates can grow; arguments and errors as for `solve`, and every type needs a count."""
    task = _task(problem, profiles, time_limit_s, source, gap)
    require_counts(problem)
    _refuse_spares(task, source)
    deadline = task.part(FOR_THE_CHOICE)
    search = partial(growth_limits, task.resolved, time_limit_s=deadline - time.monotonic())
    limits = best_so_far(search, lambda _: GrowthLimits(), deadline=deadline)
    report = HeadroomReport(
        factor=limits.fits,
        factor_limit=limits.too_much,
        first_short=None if limits.too_much is None else short_of(task.resolved, limits.too_much),
    )
    if limits.fits is None:
        return Headroom(report, None, None)
    grown = scaled(problem, limits.fits)
    task = replace(task, resolved=resolve(grown, task.profiles))
    return Headroom(report, grown, _planned(task, _exact(), limits.gpus))


@dataclass(frozen=True)
class Shedding:
    """Which services to leave out at least value, and the plan for the others."""

    report: ShedReport
    problem: Problem | None
    """The problem without them; None: none is left."""
    plan: Plan | None


def shed(
    problem: Problem,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    source: str | None = None,
) -> Shedding:
    """Returns the services to leave out at least value so that the rest fits; arguments and errors as for `solve`."""
    task = _task(problem, profiles, time_limit_s, source, gap)
    _refuse_spares(task, source)
    deadline = task.part(FOR_THE_CHOICE)
    search = partial(least_value_to_shed, task.resolved, time_limit_s=deadline - time.monotonic())
    found = best_so_far(search, lambda _: everything_shed(task.resolved), deadline=deadline)
    gone = [problem.workloads[w] for w in found.left_out]
    report = ShedReport(
        value_lost=sum(workload.worth for workload in gone),
        least_value_lost=found.least,
        shed=tuple(Shed(workload=workload.name, value=workload.worth) for workload in gone),
    )
    left_out = set(found.left_out)
    kept = [w for w in range(len(problem.workloads)) if w not in left_out]
    if not kept:
        return Shedding(report, None, None)
    rest = replace(task, resolved=task.resolved.restricted_to(kept))
    return Shedding(report, rest.resolved.problem, _planned(rest, _exact(), found.gpus))


def compare(
    problem: Problem,
    planners: Sequence[str] | None = None,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    on_row: Callable[[Row], None] | None = None,
    source: str | None = None,
) -> Comparison:
    """
    Returns the answers of several planners and the best bound that stands; arguments as for `solve`.

    A planner that ends in an error is a row that says so, and the others stand. InputError is raised for what is wrong
    with the problem, or with the names.

    Parameters
    ----------
    planners
        Names of planners; None: all that plan a kind of sharing which the fleet allows.
    time_limit_s
        For each planner.
    on_row
        Called with each planner's answer, or its failure, as it is ready.
    """
    chosen = [registry.planner_named(name) for name in dict.fromkeys(planners or planners_for(problem))]
    task = _task(problem, profiles, time_limit_s, source, gap)
    rows = _rows(task, chosen, on_row)
    disputed = disputes([row for row in rows if isinstance(row, Plan)])
    stand = [_as_it_stands(row, disputed) for row in rows]
    plans = [row for row in stand if isinstance(row, Plan)]
    not_run = tuple(planner.name for planner in chosen[len(rows) :])
    priced = next((plan for plan in plans if plan.prices is not None), None)
    services, error = (None, None) if priced is None else _services(task.anew(), priced)
    return Comparison(
        tuple(stand),
        _greatest_bound(plans),
        services,
        not_run,
        disputed,
        error,
        priced is not None and not services and not error,
    )


def _rows(task: "_Task", planners: Sequence[Planner], on_row: Callable[[Row], None] | None) -> list[Row]:
    """Returns the planners' answers, up to the one in which the search was interrupted."""
    rows: list[Row] = []
    for planner in planners:
        rows.append(_row(task.anew(), planner))
        if on_row is not None:
            on_row(rows[-1])
        if isinstance(rows[-1], Plan) and rows[-1].search.stopped == "interrupted":
            break
    return rows


def _greatest_bound(plans: Sequence[Plan]) -> Bound:
    bounds = [plan.bound for plan in plans if plan.bound.cost_per_hour is not None]
    return max(bounds, key=lambda bound: bound.cost_per_hour or 0.0, default=assembly.UNKNOWN_BOUND)


def _row(task: "_Task", planner: Planner) -> Row:
    """Returns what a planner answers, or how it failed; its problem has been resolved, so no input is to blame."""
    started = time.perf_counter()
    try:
        return _planned(task, planner)
    except Exception as error:
        return failure(planner.name, error, time.perf_counter() - started)


def _services(task: "_Task", plan: Plan) -> tuple[PriceReport | None, str | None]:
    """Returns what each service costs in a plan with slice prices, None if that takes too long, or how it failed."""
    try:
        return _reported(task, plan), None
    except Exception as error:
        return None, described(error)


def _reported(task: "_Task", plan: Plan) -> PriceReport | None:
    """Returns what each service costs in a plan; None: it has no slice prices, or there was no time."""
    with interruptible_by(threading.Event()):  # whoever interrupts a search wants to see what it found
        report: PriceReport | None = best_so_far(
            partial(price_report, task.resolved.problem, plan, task.profiles), lambda _: None, deadline=task.deadline
        )
        return report


def _as_it_stands(row: Row, disputed: Mapping[str, Dispute]) -> Row:
    return without_claim(row, disputed[row.planner]) if isinstance(row, Plan) and row.planner in disputed else row


def planner_names() -> tuple[str, ...]:
    """Returns the names of all planners, the exact ones first."""
    return tuple(registry.planners())


def planners_for(problem: Problem) -> tuple[str, ...]:
    """Returns the names of the planners that plan what a problem asks for: kinds of sharing, free partitions."""
    return tuple(facts.name for facts in planner_facts() if facts.plans(problem))


def planner_facts() -> tuple[PlannerFacts, ...]:
    """Returns what is said of every planner, the exact ones first."""
    return tuple(
        PlannerFacts(name, planner.source, planner.sharing, planner.own_model, name in SPARE_PLANNERS)
        for name, planner in registry.planners().items()
    )


def planner_sources() -> dict[str, str]:
    """Returns where each planner comes from: paper and section."""
    return {name: planner.source for name, planner in registry.planners().items()}


@dataclass(frozen=True)
class _Task:
    """A problem with all that a planner is given."""

    resolved: ResolvedProblem
    profiles: Sequence[Profile]
    time_limit_s: float
    """As stated."""
    deadline: float
    """As time.monotonic() has it."""
    cost_without: Mapping[str, float | None] = field(default_factory=dict)
    """What the planner's plan costs without standby processes (`shadow`), without free partitions (`insurance`)."""

    @property
    def left_s(self) -> float:
        """Seconds that are left."""
        return max(self.deadline - time.monotonic(), 0.0)

    def part(self, of_time: float) -> float:
        """Returns the moment at which a part of what is left is over."""
        return time.monotonic() + of_time * self.left_s

    def anew(self) -> "_Task":
        """Returns the task with all of its time."""
        return replace(self, deadline=time.monotonic() + self.time_limit_s)


FOR_THE_CHOICE = 0.75
"""Part of the time for what headroom and shedding decide; the plan for that has the rest, at least."""

FOR_SERVICES = 0.1
"""Part of the time for what each service costs in a plan."""

FOR_COMPARING = 0.2
"""Part of the time for the plan without spares or standby processes, of which only the cost is shown."""


def _task(
    problem: Problem,
    profiles: Sequence[Profile] | None,
    time_limit_s: float | None,
    source: str | None = None,
    gap: float | None = None,
) -> _Task:
    """Fills in what the caller left out: the shipped profiles, the problem's own time limit and gap."""
    started = time.monotonic()
    keep_freed_memory()
    known = shipped_profiles() if profiles is None else profiles
    limit_s = problem.settings.time_limit_s if time_limit_s is None else time_limit_s
    resolved = resolve(problem, known, source)
    return _Task(resolved if gap is None else replace(resolved, gap=gap), known, limit_s, started + limit_s)


def _exact() -> Planner:
    return registry.planner_named("exact")


def _planned(task: _Task, planner: Planner, known: Gpus = list, on_plan: OnPlan | None = None) -> Plan:
    """
    Runs a planner, measures its plan, verifies it and says what its standby processes and free partitions cost.

    `known`: GPUs that are the plan where the search ends without one; empty: there are none.
    """
    problem = task.resolved.problem
    asked = problem.settings
    if _refusal(task.resolved, planner):
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
    return _verified(replace(task, cost_without=without), planner, known, on_plan)


SPARE_PLANNERS = ("exact",)
"""Planners that keep partitions free."""

NO_SPARES = {"spare_services": 0, "spare_rate": 0.0, "spare_gpu_loss": False}


def _cost_without(changes: Mapping[str, Any], task: _Task, planner: Planner) -> float | None:
    """Returns what the planner's plan costs with other settings."""
    problem = task.resolved.problem
    changed = problem.model_copy(update={"settings": problem.settings.model_copy(update=changes)})
    resolved = resolve(changed, task.profiles)
    return _verified(replace(task, resolved=resolved, deadline=task.part(FOR_COMPARING)), planner).cost_per_hour


def _verified(task: _Task, planner: Planner, known: Gpus = list, on_plan: OnPlan | None = None) -> Plan:
    with collector_paused():
        return _run_and_checked(task, planner, known, on_plan)


def _run_and_checked(task: _Task, planner: Planner, known: Gpus, on_plan: OnPlan | None) -> Plan:
    started = time.perf_counter()
    resolved = task.resolved
    if impossible := unservable(resolved):
        plan = assembly.without_plan(resolved, impossible, planner=planner.name, search=UNSERVABLE)
    elif reason := _refusal(resolved, planner):
        plan = assembly.refused(resolved, reason, planner=planner.name)
    else:
        search = partial(planner.plan, resolved, time_limit_s=task.left_s)
        watch = None if on_plan is None else Watch(partial(_so_far, task, planner, started), on_plan, _not_shown)
        plan = best_so_far(search, partial(_given_up, task, planner), deadline=task.deadline, watch=watch)
    if not plan.gpus and (gpus := known()):
        plan = _of_known(resolved, plan, gpus)
    return _checked(task, planner, _timed(_as_stated(plan, task), started))


def _so_far(task: _Task, planner: Planner, started: float, plan: Plan) -> Plan | None:
    """Returns what a search offers as it would be returned if it ended now, verified; None: no plan."""
    return _checked(task, planner, _timed(_as_stated(plan, task), started)) if plan.gpus else None


def _not_shown(error: BaseException) -> None:
    """Says why a plan so far is not handed on: it does not hold, mostly, which is a mistake in sliceplan."""
    report(f"a plan so far is not shown: {described(error)}")


def _timed(plan: Plan, started: float) -> Plan:
    return plan.model_copy(update={"runtime_s": round(time.perf_counter() - started, 6)})


def _of_known(resolved: ResolvedProblem, plan: Plan, gpus: Sequence[AllocatedGpu]) -> Plan:
    """
    Returns the plan of known GPUs, for a search that ended without one.

    They were found at the very edge of what fits, where a solver with its tolerances may also say that nothing does.
    """
    if plan.status is Status.INFEASIBLE:
        edge = plan.search.model_copy(update={"stopped": "gap_left"})
        return unproven(resolved, gpus, edge, assembly.UNKNOWN_BOUND)
    return unproven(resolved, gpus, plan.search, plan.bound)


def _as_stated(plan: Plan, task: _Task) -> Plan:
    """Returns the plan with the limit as its user stated it, of which the search had what was left."""
    if plan.search.time_limit_s is None:
        return plan
    return plan.model_copy(update={"search": plan.search.model_copy(update={"time_limit_s": task.time_limit_s})})


def _refusal(resolved: ResolvedProblem, planner: Planner) -> str | None:
    """Returns why a planner does not take a problem that asks for what it does not plan; None: it may."""
    allowed = {sharing for entry in resolved.fleet for sharing in entry.sharing}
    if not allowed.intersection(planner.sharing):
        return f"{planner.name} plans {' and '.join(planner.sharing)}, which no GPU type of the fleet allows"
    if not resolved.problem.settings.keeps_spares:
        return None
    if planner.name not in SPARE_PLANNERS:
        by = " or ".join(SPARE_PLANNERS)
        return f"{planner.name} does not plan partitions that are kept free ({SPARE_SETTINGS}); use {by}"
    if resolved.mps:
        shared = ", ".join(resolved.mps)
        return f"partitions are kept free ({SPARE_SETTINGS}) on MIG and whole GPUs only; the fleet has mps on {shared}"
    return None


SPARE_SETTINGS = "settings.spare_services or spare_gpu_loss"


def _refuse_spares(task: _Task, source: str | None) -> None:
    """Raises InputError if the exact planner does not keep free what is asked for on this fleet."""
    problem = task.resolved.problem
    if problem.settings.keeps_spares and (reason := _refusal(task.resolved, _exact())):
        raise InputError([Finding(source or problem.name, "settings", reason)])


def _checked(task: _Task, planner: Planner, plan: Plan) -> Plan:
    """Measures a plan and verifies it."""
    problem = task.resolved.problem
    columns = plan_columns(problem, plan)
    plan = completed(problem, plan, task.profiles, columns, task.cost_without)
    violations = check(problem, plan, task.profiles, columns)
    broken = [_broken(violation) for violation in violations if violation.excess is not None]
    if broken and planner.own_model and len(broken) == len(violations):
        return plan.model_copy(update={"status": Status.VIOLATING, "violations": tuple(broken), "gap": None})
    if violations:
        raise WrongPlanError(f"{planner.name} returned a plan that does not hold: {'; '.join(map(str, violations))}")
    return plan


def _given_up(task: _Task, planner: Planner, stopped: Stopped) -> Plan:
    search = Search(stopped=stopped, time_limit_s=task.time_limit_s, solver=None)
    return assembly.without_plan(task.resolved, (), planner=planner.name, search=search)


def _broken(violation: Violation) -> PlanViolation:
    return PlanViolation(
        gpu=violation.where, workload=violation.workload, message=violation.message, excess=violation.excess or 0.0
    )
