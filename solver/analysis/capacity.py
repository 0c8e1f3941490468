"""
Capacity the other way round: what a fixed fleet can carry.

Headroom
    The greatest common factor f by which all rates can grow. If the rates fit at f, they fit at anything below: the
    same partitions carry them, and the same are kept free. So f is found by bisection between a factor for which there
    is a plan and one for which a bound proves that there is none; both are reported, and they are as close as PRECISION
    unless time ran out.
Shedding
    The services to leave out at least value, so that the rest fits: max sum_w value_w s_w over the constraints of
    the cutting stock (exact/shedding/most_valuable.py), by branch and bound with its dual bound.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from typing import Literal

from ..allocation.allocated import AllocatedGpu
from ..exact.fleet.decomposition import solve_by_prices
from ..exact.fleet.first_fleet import first_fleet
from ..exact.fleet.fleet_by_prices import fleet_prices
from ..exact.fleet.mixed_fleet import solve_mixed_fleet
from ..exact.fleet.spare_fleet import solve_with_spares
from ..exact.mig.decoding import cut_gpus
from ..exact.mig.spare_capacity import spare_rules
from ..exact.shedding.most_valuable import MostValuable, most_valuable
from ..model.counted import require_counts
from ..model.problem import Problem
from ..model.stop_reason import StopReason
from ..performance.resolve import ResolvedProblem
from ..performance.unservable import unservable
from ..planners.igniter import hosted, placed_on_each, within_limits
from ..runtime.interruption import offer
from ..runtime.progress import report

PRECISION = 1e-5
"""How close the proven limit comes to the factor, as a part of it."""

LARGEST, SMALLEST = 1e6, 1e-6
"""Factors beyond which nothing is tried."""

GLANCE = 0.05
"""How close the factor to begin at comes to what there is a plan for within a moment, as a part of it."""

Outcome = Literal["fits", "too_much", "unknown"]


Gpus = Callable[[], Sequence[AllocatedGpu]]
"""Builds GPUs that serve what is asked for, at no matter what cost."""


@dataclass(frozen=True, eq=False)
class GrowthLimits:
    """A factor for which there is a plan, and one for which there is none; None: not found."""

    fits: float | None = None
    too_much: float | None = None
    gpus: Gpus = list
    """For the factor that fits."""


@dataclass(frozen=True, eq=False)
class LeastShed:
    """The workloads to leave out, and the proven least value that any choice loses."""

    left_out: list[int]
    least: float
    gpus: Gpus = list
    """For the others, numbered without those that are left out."""


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
    first = _first_factor(resolved, deadline) if resolved.mps else 1.0
    return _bisected(lambda factor: _outcome(resolved, factor, deadline), deadline, first)


def short_of(resolved: ResolvedProblem, factor: float) -> str | None:
    """Returns a workload that its own limits keep from growing by a factor, whatever the GPUs; None: there is none."""
    found = unservable(resolved.at_rates(resolved.required_rps * factor))
    return found[0].workload if found else None


def scaled(problem: Problem, factor: float) -> Problem:
    """Returns the problem with all rates times a factor."""
    workloads = tuple(w.model_copy(update={"rate_rps": w.rate_rps * factor}) for w in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


def everything_shed(resolved: ResolvedProblem) -> LeastShed:
    """Returns the choice that fits any fleet, and the value of the workloads that nothing can serve."""
    hopeless = {item.workload for item in unservable(resolved)}
    workloads = resolved.problem.workloads
    return LeastShed(list(range(len(workloads))), sum(w.worth for w in workloads if w.name in hopeless))


def least_value_to_shed(resolved: ResolvedProblem, *, time_limit_s: float) -> LeastShed:
    """Returns the workloads to leave out at least value; offers the best choice so far."""
    workloads = resolved.problem.workloads
    hopeless = {item.workload for item in unservable(resolved)}
    kept = [w for w, workload in enumerate(workloads) if workload.name not in hopeless]
    lost = [w for w, workload in enumerate(workloads) if workload.name in hopeless]
    sure = sum(workloads[w].worth for w in lost)
    if not kept:
        return LeastShed(lost, sure)
    total = sum(workloads[w].worth for w in kept)

    def answer(found: MostValuable) -> LeastShed:
        served = {kept[i] for i in found.served}
        left_out = [w for w in range(len(workloads)) if w not in served]
        return LeastShed(left_out, sure + max(0.0, total - found.most), found.gpus)

    servable = resolved.restricted_to(kept)

    def offered(found: MostValuable) -> None:
        report(f"shed: {len(found.served)} of {len(workloads)} workloads fit so far")
        offer(lambda _: answer(found))

    found = most_valuable(
        servable,
        known=placed_on_each(servable),
        on_answer=offered,
        time_limit_s=time_limit_s,
    )
    return answer(found)


def _outcome(resolved: ResolvedProblem, factor: float, deadline: float) -> tuple[Outcome, Gpus]:
    """Tells whether the rates fit when they are a factor times as great, and on which GPUs."""
    grown = resolved.at_rates(resolved.required_rps * factor)
    if unservable(grown):
        return "too_much", list
    left = max(deadline - time.monotonic(), 0.05) / 2
    if resolved.mps:
        for plan in chain(_first_plans(grown, deadline), within_limits(grown, placed_on_each(grown))):
            return "fits", partial(list, plan)
        found = solve_mixed_fleet(grown, hosted, time_limit_s=left)
        if found.gpus is not None:
            return "fits", partial(list, found.gpus)
        return "too_much" if found.stopped == StopReason.INFEASIBLE else "unknown", list
    rules = spare_rules(resolved.problem.settings)
    if rules is None:
        answer = solve_by_prices(grown, any_plan=True, time_limit_s=left).answer
    else:
        answer = solve_with_spares(grown, rules, any_plan=True, time_limit_s=left).answer
    if answer.patterns is not None and answer.partitions is not None:
        spares = None if answer.spares is None else answer.spares.free
        return "fits", partial(cut_gpus, grown, answer.patterns, answer.partitions, spares)
    return "too_much" if answer.stopped == StopReason.INFEASIBLE else "unknown", list


def _first_plans(resolved: ResolvedProblem, deadline: float) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields the plan that is found within a moment, if there is one."""
    prices = fleet_prices(resolved, deadline=deadline)
    first = first_fleet(resolved, prices, deadline=deadline) if prices.bound < inf else None
    if first is not None:
        yield first


def _first_factor(resolved: ResolvedProblem, deadline: float) -> float:
    """
    Returns 1, or about the greatest factor up to it for which there is a plan within a moment, to begin at.

    A program that is to prove that a factor is too much may take all the time that there is; a plan takes it none.
    """

    def fits(factor: float) -> bool:
        grown = resolved.at_rates(resolved.required_rps * factor)
        return not unservable(grown) and any(True for _ in _first_plans(grown, deadline))

    found = 1.0
    while not fits(found):
        found /= 2
        if found < SMALLEST or time.monotonic() > deadline:
            return 1.0
    gap = found / 2 if found < 1 else 0.0
    while gap > GLANCE * found and time.monotonic() < deadline:
        found = found + gap if fits(found + gap) else found
        gap /= 2
    return found


def _bisected(outcome: Callable[[float], tuple[Outcome, Gpus]], deadline: float, first: float = 1.0) -> GrowthLimits:
    """Closes in on the greatest factor that fits; where a trial stays unknown, only from below."""
    limits = GrowthLimits()
    tried, step = first, 2.0
    while limits.fits is None or limits.too_much is None:
        found, limits = _tried(outcome, tried, limits)
        if found == "unknown":
            break
        if not SMALLEST < tried < LARGEST or time.monotonic() > deadline:
            return limits
        if limits.fits is None or limits.too_much is None:
            tried = tried * step if found == "fits" else tried / step
            step = step * step if step < 16 else step
    ceiling = limits.too_much if limits.too_much is not None and found != "unknown" else tried
    while limits.fits is not None and ceiling / limits.fits > 1 + PRECISION and time.monotonic() < deadline:
        tried = (limits.fits * ceiling) ** 0.5
        found, limits = _tried(outcome, tried, limits)
        if found != "fits":
            ceiling = tried
    return limits


def _tried(
    outcome: Callable[[float], tuple[Outcome, Gpus]], factor: float, limits: GrowthLimits
) -> tuple[Outcome, GrowthLimits]:
    """Returns what a trial gave, and the limits with it, which it offers to whoever interrupts."""
    found, gpus = outcome(factor)
    if found == "fits":
        limits = replace(limits, fits=factor, gpus=gpus)
    elif found == "too_much":
        limits = replace(limits, too_much=factor if limits.too_much is None else min(limits.too_much, factor))
    report(f"headroom: {factor:.5g} times the rates: {found.replace('_', ' ')}")
    offer(lambda _: limits)
    return found, limits
