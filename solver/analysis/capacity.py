"""
Capacity the other way round: what a fixed fleet can carry.

Headroom
    The greatest common factor f by which all rates can grow. If the rates fit at f, they fit at anything below: the
    same partitions carry them, and the same are kept free. So f is found by bisection between a factor for which there
    is a plan and one for which a bound proves that there is none; both are reported, and they are as close as PRECISION
    unless time ran out.

Where what a service's partitions carry is no sum, limits are those of a looser problem (performance/loosest.py), which
has a plan wherever this one has; and what fits is what sets of partitions were found to hold
(exact/fleet/server_sets.py), or do in weighted turns. There both may stay apart.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf
from typing import Literal

from ..allocation.allocated import AllocatedGpu
from ..exact.fleet.decomposition import solve_by_prices
from ..exact.fleet.first_fleet import first_fleet
from ..exact.fleet.fleet_by_prices import fleet_prices
from ..exact.fleet.mixed_fleet import solve_mixed_fleet
from ..exact.fleet.server_sets import solve_for_sets
from ..exact.fleet.spare_fleet import solve_with_spares
from ..exact.mig.decoding import cut_gpus
from ..exact.mig.spare_rules import spare_rules
from ..model.counted import require_counts
from ..model.stop_reason import StopReason
from ..performance.latency_rules.server_sets import is_by_set
from ..performance.loosest import loosest
from ..performance.resolve import ResolvedProblem
from ..performance.unservable import unservable, unservable_by_sums
from ..planners.igniter import hosted, placed_on_each, within_limits
from ..runtime.interruption import offer
from ..runtime.progress import report
from .grown_rates import LARGEST, SMALLEST, GrowthLimits
from .known_gpus import NOTHING, KnownGpus

PRECISION = 1e-5
"""How close the proven limit comes to the factor, as a part of it."""

GLANCE = 0.05
"""How close the factor to begin at comes to what there is a plan for within a moment, as a part of it."""

Outcome = Literal["fits", "too_much", "unknown"]


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
    if is_by_set(resolved.problem.settings):
        return _growth_of_sets(resolved, deadline)
    return _growth_by_sums(resolved, deadline)


def _growth_by_sums(resolved: ResolvedProblem, deadline: float, *, loose: bool = False) -> GrowthLimits:
    """
    Returns the limits where a plan is a cover.

    `loose`: of the looser problem; only what is too much is of use then, and `fits` is what was not proven to be so.
    """
    first = _first_factor(loosest(resolved) if loose else resolved, deadline) if resolved.mps else 1.0
    if not loose:
        return _bisected(lambda factor: _outcome(resolved, factor, deadline), deadline, first, _all_of_it)
    return _bisected(lambda factor: _not_excluded(resolved, factor, deadline), deadline, first, _only_too_much)


def _growth_of_sets(resolved: ResolvedProblem, deadline: float) -> GrowthLimits:
    """Returns what the looser problem proves to be too much, and what sets of partitions are found to hold."""
    now = time.monotonic()
    proven = _growth_by_sums(resolved, now + (deadline - now) / 2, loose=True)

    def shown(limits: GrowthLimits) -> GrowthLimits:
        return replace(limits, too_much=proven.too_much)

    return shown(_bisected(lambda factor: _held(resolved, factor, deadline), deadline, proven.fits or 1.0, shown))


def _all_of_it(limits: GrowthLimits) -> GrowthLimits:
    return limits


def _only_too_much(limits: GrowthLimits) -> GrowthLimits:
    return GrowthLimits(too_much=limits.too_much)


def _not_excluded(resolved: ResolvedProblem, factor: float, deadline: float) -> tuple[Outcome, KnownGpus]:
    """Tells whether a factor times the rates is proven to be too much; else it is taken for what fits."""
    found, _ = _outcome(resolved, factor, deadline, loose=True)
    return ("too_much" if found == "too_much" else "fits"), NOTHING


def _held(resolved: ResolvedProblem, factor: float, deadline: float) -> tuple[Outcome, KnownGpus]:
    """Tells whether a plan is found whose sets hold a factor times the rates; else that is taken for too much."""
    grown = resolved.at_rates(resolved.required_rps * factor)
    if unservable(grown):
        return "too_much", NOTHING
    if not unservable_by_sums(grown):
        found, gpus = _outcome(resolved, factor, deadline)
        if found == "fits":
            return found, gpus
    if resolved.mps:
        return "too_much", NOTHING
    sets = solve_for_sets(grown, any_plan=True, time_limit_s=max(deadline - time.monotonic(), 0.05) / 2)
    return ("fits", KnownGpus(sets.gpus, sets.points)) if sets.has_plan else ("too_much", NOTHING)


def _outcome(
    resolved: ResolvedProblem, factor: float, deadline: float, *, loose: bool = False
) -> tuple[Outcome, KnownGpus]:
    """Tells whether the rates fit when they are a factor times as great, and on which GPUs; by sums."""
    grown = resolved.at_rates(resolved.required_rps * factor)
    grown = loosest(grown) if loose else grown
    if unservable_by_sums(grown):
        return "too_much", NOTHING
    left = max(deadline - time.monotonic(), 0.05) / 2
    if resolved.mps:
        for plan in chain(_first_plans(grown, deadline), within_limits(grown, placed_on_each(grown))):
            return "fits", KnownGpus(partial(list, plan))
        found = solve_mixed_fleet(grown, hosted, time_limit_s=left)
        if found.gpus is not None:
            return "fits", KnownGpus(partial(list, found.gpus))
        return "too_much" if found.stopped == StopReason.INFEASIBLE else "unknown", NOTHING
    rules = spare_rules(resolved.problem.settings)
    if rules is None:
        answer = solve_by_prices(grown, any_plan=True, time_limit_s=left).answer
    else:
        answer = solve_with_spares(grown, rules, any_plan=True, time_limit_s=left).answer
    if answer.patterns is not None and answer.partitions is not None:
        spares = None if answer.spares is None else answer.spares.free
        return "fits", KnownGpus(partial(cut_gpus, grown, answer.patterns, answer.partitions, spares))
    return "too_much" if answer.stopped == StopReason.INFEASIBLE else "unknown", NOTHING


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


def _bisected(
    outcome: Callable[[float], tuple[Outcome, KnownGpus]],
    deadline: float,
    first: float,
    shown: Callable[[GrowthLimits], GrowthLimits],
) -> GrowthLimits:
    """
    Closes in on the greatest factor that fits; where a trial stays unknown, only from below.

    `shown`: what of the limits is said to whoever interrupts.
    """
    limits = GrowthLimits()
    tried, step = first, 2.0
    while limits.fits is None or limits.too_much is None:
        found, limits = _tried(outcome, tried, limits, shown)
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
        found, limits = _tried(outcome, tried, limits, shown)
        if found != "fits":
            ceiling = tried
    return limits


def _tried(
    outcome: Callable[[float], tuple[Outcome, KnownGpus]],
    factor: float,
    limits: GrowthLimits,
    shown: Callable[[GrowthLimits], GrowthLimits],
) -> tuple[Outcome, GrowthLimits]:
    """Returns what a trial gave, and the limits with it, which it offers to whoever interrupts."""
    found, gpus = outcome(factor)
    if found == "fits":
        limits = replace(limits, fits=factor, gpus=gpus)
    elif found == "too_much":
        limits = replace(limits, too_much=factor if limits.too_much is None else min(limits.too_much, factor))
    report(f"headroom: {factor:.5g} times the rates: {found.replace('_', ' ')}")
    offer(lambda _: shown(limits))
    return found, limits
