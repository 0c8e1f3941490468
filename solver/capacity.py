"""
Capacity the other way round: what a fixed fleet can carry.

Headroom
    The greatest common factor f by which all rates can grow. If the rates fit at f, they fit at anything below: the
    same partitions carry them. So f is found by bisection between a factor for which there is a plan and one for which
    a bound proves that there is none; both are reported, and they are as close as PRECISION unless time ran out.
Shedding
    The services to leave out at least value, so that the rest fits: max sum_w value_w s_w over the constraints of
    the cutting stock (exact/shortfall.py), by branch and bound with its dual bound.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from .exact.decomposition import solve_by_prices
from .exact.shared_fleet import solve_shared_fleet
from .exact.shortfall import most_valuable
from .model.errors import Finding, InputError
from .model.problem import Problem
from .performance.resolve import ResolvedProblem
from .performance.unservable import unservable

PRECISION = 1e-5
"""How close the proven limit comes to the factor, as a part of it."""

LARGEST, SMALLEST = 1e6, 1e-6
"""Factors beyond which nothing is tried."""

Outcome = Literal["fits", "too_much", "unknown"]


@dataclass(frozen=True)
class GrowthLimits:
    """A factor for which there is a plan, and one for which there is none; None: not found."""

    fits: float | None
    too_much: float | None


def growth_limits(resolved: ResolvedProblem, *, time_limit_s: float) -> GrowthLimits:
    """
    Returns how far all rates can grow on the fleet.

    Raises
    ------
    InputError
        If a GPU type has no count, so that there is no limit.
    """
    require_counts(resolved.problem)
    deadline = time.monotonic() + time_limit_s
    return _bisected(lambda factor: _outcome(resolved, factor, deadline), deadline)


def short_of(resolved: ResolvedProblem, factor: float) -> str | None:
    """Returns a workload that its own limits keep from growing by a factor, whatever the GPUs; None: there is none."""
    found = unservable(replace(resolved, required_rps=resolved.required_rps * factor))
    return found[0].workload if found else None


def require_counts(problem: Problem) -> None:
    """Raises InputError if a GPU type may be used in any number."""
    findings = [
        Finding(
            problem.name, f"fleet[{i}].count", f"is missing: as many {entry.gpu} as needed carry any load; give one"
        )
        for i, entry in enumerate(problem.fleet)
        if entry.available is None
    ]
    if findings:
        raise InputError(findings)


def scaled(problem: Problem, factor: float) -> Problem:
    """Returns the problem with all rates times a factor."""
    workloads = tuple(w.model_copy(update={"rate_rps": w.rate_rps * factor}) for w in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


def least_value_to_shed(resolved: ResolvedProblem, *, time_limit_s: float) -> tuple[list[int], float]:
    """Returns the workloads to leave out, and the proven least value that any choice loses."""
    workloads = resolved.problem.workloads
    hopeless = {item.workload for item in unservable(resolved)}
    kept = [w for w, workload in enumerate(workloads) if workload.name not in hopeless]
    lost = [w for w, workload in enumerate(workloads) if workload.name in hopeless]
    sure = sum(workloads[w].worth for w in lost)
    if not kept:
        return lost, sure
    served, most = most_valuable(resolved.restricted_to(kept), time_limit_s=time_limit_s)
    shed = sorted([*lost, *(w for w, is_served in zip(kept, served, strict=True) if not is_served)])
    total = sum(workloads[w].worth for w in kept)
    return shed, sure + max(0.0, total - most)


def _outcome(resolved: ResolvedProblem, factor: float, deadline: float) -> Outcome:
    """Tells whether the rates fit when they are a factor times as great."""
    grown = replace(resolved, required_rps=resolved.required_rps * factor)
    if unservable(grown):
        return "too_much"
    left = max(deadline - time.monotonic(), 0.05) / 2
    if resolved.mps:
        found = solve_shared_fleet(grown, time_limit_s=left)
        stopped, has_plan = found.stopped, found.gpus is not None
    else:
        answer = solve_by_prices(grown, any_plan=True, time_limit_s=left).answer
        stopped, has_plan = answer.stopped, answer.patterns is not None
    if has_plan:
        return "fits"
    return "too_much" if stopped == "infeasible" else "unknown"


def _bisected(outcome: Callable[[float], Outcome], deadline: float) -> GrowthLimits:
    """Closes in on the greatest factor that fits; where a trial stays unknown, only from below."""
    fits: float | None = None
    too_much: float | None = None
    tried, step = 1.0, 2.0
    while fits is None or too_much is None:
        found = outcome(tried)
        if found == "fits":
            fits = tried
        elif found == "too_much":
            too_much = tried
        else:
            break
        if not SMALLEST < tried < LARGEST or time.monotonic() > deadline:
            return GrowthLimits(fits, too_much)
        if fits is None or too_much is None:
            tried = tried * step if found == "fits" else tried / step
            step = step * step if step < 16 else step
    ceiling = too_much if too_much is not None and found != "unknown" else tried
    while fits is not None and ceiling / fits > 1 + PRECISION and time.monotonic() < deadline:
        tried = (fits * ceiling) ** 0.5
        found = outcome(tried)
        if found == "fits":
            fits = tried
            continue
        ceiling = tried
        if found == "too_much":
            too_much = tried if too_much is None else min(too_much, tried)
    return GrowthLimits(fits, too_much)
