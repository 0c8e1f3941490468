"""The front door to counted fleets: how far all rates can grow, and which services to leave out."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..analysis.grown_rates import GrowthLimits, scaled, short_of
from ..analysis.known_gpus import NOTHING
from ..analysis.leaving_out import everything_shed, least_value_to_shed
from ..metrics.capacity_report import capacity_report
from ..model.capacity_report import CapacityReport, HeadroomReport, Shed, ShedReport
from ..model.counted import require_counts
from ..model.errors import Finding, InputError
from ..model.plan import Plan
from ..model.problem import Problem, Weights
from ..model.profile import Profile
from ..performance.resolve import resolve
from ..runtime.interruption import best_so_far
from .at_hand import at_hand_first, better_of
from .running import exact, planned, refuse_unplannable
from .task import Task, task_of

FOR_THE_CHOICE = 0.75
"""Part of the time for what headroom and shedding decide; the plan for that has the rest, at least."""


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
    task = task_of(problem, profiles, time_limit_s, source, gap)
    require_counts(problem)
    refuse_unplannable(task, source)
    _refuse_shares_kept_free(task, source)
    first = _served_at_hand(task)
    limits = GrowthLimits(fits=1.0) if first and not task.left_s else _growth_limits(task)
    if first and (limits.fits or 0.0) < 1.0:
        limits = replace(limits, fits=1.0, gpus=NOTHING)
    report = HeadroomReport(
        factor=limits.fits,
        factor_limit=limits.too_much,
        first_short=None if limits.too_much is None else short_of(task.resolved, limits.too_much),
    )
    if limits.fits is None:
        return Headroom(report, None, None)
    if first and limits.fits == 1.0 and not task.left_s:
        return Headroom(report, problem, first)
    grown = scaled(problem, limits.fits)
    task = replace(task, resolved=resolve(grown, task.profiles))
    plan = planned(task, exact(), limits.gpus)
    return Headroom(report, grown, better_of(plan, first) if first and limits.fits == 1.0 else plan)


def _refuse_shares_kept_free(task: Task, source: str | None) -> None:
    """Raises InputError where partitions are kept free under MPS: what is searched here knows them on MIG alone."""
    if task.resolved.mps and task.resolved.problem.settings.keeps_spares:
        why = (
            f"keeps partitions free; with MPS in the fleet, on {', '.join(task.resolved.mps)}, it is not known how far "
            "rates can grow beside these, nor whom to leave out: solve plans such fleets, too"
        )
        raise InputError([Finding(source or task.resolved.problem.name, "settings", why)])


def _served_at_hand(task: Task) -> Plan | None:
    """Returns a plan for everything that is at hand where there is little time; None: there is none, or more time."""
    first = at_hand_first(task, exact())
    return first if first is not None and first.gpus else None


def _growth_limits(task: Task) -> GrowthLimits:
    deadline = task.part(FOR_THE_CHOICE)

    def search() -> GrowthLimits:
        from ..analysis.capacity import growth_limits  # within the search, as it takes long to load

        return growth_limits(task.resolved, time_limit_s=deadline - time.monotonic())

    return best_so_far(search, lambda _: GrowthLimits(), deadline=deadline)


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
    task = task_of(problem, profiles, time_limit_s, source, gap)
    refuse_unplannable(task, source)
    _refuse_shares_kept_free(task, source)
    if first := _served_at_hand(task):
        plan = better_of(planned(task, exact()), first) if task.left_s else first
        return Shedding(ShedReport(value_lost=0.0, least_value_lost=0.0, shed=()), problem, plan)
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
    return Shedding(report, rest.resolved.problem, planned(rest, exact(), found.gpus))


@dataclass(frozen=True)
class Capacity:
    """The most that the GPUs that there are could carry, and the plan for that."""

    report: CapacityReport
    problem: Problem
    """The problem with the objective capacity, which the plan answers."""
    plan: Plan
    """Without GPUs where none was found, or none exists; its status says which."""


def capacity(
    problem: Problem,
    *,
    weights: Weights | None = None,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    source: str | None = None,
) -> Capacity:
    """
    Returns the exact plan of a problem whose objective is set to capacity, and what it says of each service.

    Parameters
    ----------
    weights
        What a request/s counts: "equal", or "solo": 1 / (what one GPU carries of its service alone); None: the
        problem's own.
    gap
        Part of the limit that may be missing; None: the problem's own. Others and errors as for `solve`, and what the
        exact planner refuses is an error too.
    """
    settings = problem.settings
    update = {"objective": "capacity", "capacity_weights": weights or settings.capacity_weights}
    asked = problem.model_copy(update={"settings": settings.model_copy(update=update)})
    task = task_of(asked, profiles, time_limit_s, source, gap)
    refuse_unplannable(task, source)
    plan = planned(task, exact())
    return Capacity(capacity_report(asked, plan), asked, plan)
