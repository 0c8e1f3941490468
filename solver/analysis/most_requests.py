"""The most requests/s that the GPUs that there are could carry: what each request/s counts, and the plan for that."""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from ..allocation.assembly import UNKNOWN_BOUND, assemble
from ..exact.capacity.cover_limit import cover_limit
from ..exact.capacity.first_plan import first_plan
from ..exact.capacity.most_requests import MostRequests, most_requests, solo_capacity
from ..exact.capacity.price_limit import PriceLimit, price_limit
from ..exact.capacity.relaxation import relaxation
from ..exact.mig.decoding import alike_gpus
from ..model.capacity_report import CapacityReport, ServiceCapacity, Weights
from ..model.errors import Finding, InputError
from ..model.objective import CAPACITY
from ..model.plan import Plan, Search
from ..model.problem import Problem
from ..model.stop_reason import StopReason
from ..performance.interference.prediction import Floats, Ints
from ..performance.resolve import ResolvedProblem
from ..runtime.interruption import offer

PLANNER = "capacity"
"""Stands in plans for most requests/s where a planner's name stands in others."""

NO_GAP = 5e-9
"""Part by which a plan and a limit may differ and be the same: the solver ends at 1e-9, and its limit is rounded up."""

LONGEST_S = 5.0
"""For the prices of a limit; beyond it they hardly improve."""

NOTHING = MostRequests(StopReason.TIME_LIMIT, "HiGHS through MathOpt: no solution found", None)

NO_BOUND = UNKNOWN_BOUND.model_copy(update={"method": "none: the plan is for most requests/s, not for least cost"})


@dataclass(frozen=True)
class MostCapacity:
    """The report, and the plan; None: none was found."""

    report: CapacityReport
    stopped: StopReason = StopReason.TIME_LIMIT
    """`infeasible`: the GPUs do not carry the rates, which is proven."""
    plan: Plan | None = field(default=None)


def refuse_unknown(problem: Problem) -> None:
    """Raises InputError where a problem asks for what is not known of capacity: MPS, partitions that are kept free."""
    findings = [
        Finding(problem.name, f"fleet[{i}].sharing", "allows mps; capacity knows mig and exclusive")
        for i, entry in enumerate(problem.fleet)
        if "mps" in entry.sharing
    ]
    if problem.settings.keeps_spares:
        findings.append(Finding(problem.name, "settings", "keeps partitions free, which capacity does not know"))
    if findings:
        raise InputError(findings)


def nothing_found(weights: Weights) -> MostCapacity:
    """Returns what is known before anything is."""
    return MostCapacity(CapacityReport(weights=weights, capacity=None, limit=None, gap=None, services=(), one_more={}))


def most_capacity(resolved: ResolvedProblem, weights: Weights, *, time_limit_s: float) -> MostCapacity:
    """Returns the plan that could carry most, and what is proven; every GPU type has a count (`require_counts`)."""
    started = time.monotonic()
    solo = solo_capacity(resolved)
    if not solo.all():  # some service has a rate, and no GPU that there is carries any of it
        return MostCapacity(nothing_found(weights).report, StopReason.INFEASIBLE)
    each = np.ones(len(solo)) if weights == "equal" else 1 / solo
    relaxed = relaxation(resolved, each)
    prices = None if relaxed is None else price_limit(resolved, each, relaxed)
    left = time_limit_s - (time.monotonic() - started)
    first = None if relaxed is None else first_plan(resolved, each, relaxed, time_limit_s=left)
    if relaxed is not None and first is not None:
        left = time_limit_s - (time.monotonic() - started)
        value = first.capacity(resolved, each) or 0.0
        sharper = cover_limit(resolved, each, relaxed, value, time_limit_s=min(left / 2, LONGEST_S))
        counts = _counts(resolved)
        prices = sharper if prices is None else min(prices, sharper, key=lambda one: one.at(counts))
    so_far = first or NOTHING
    offer(lambda _: _reported(resolved, weights, each, so_far, prices, time_limit_s))
    left = time_limit_s - (time.monotonic() - started)
    answer = most_requests(resolved, each, known=first, time_limit_s=left, gap=resolved.gap)
    if answer.partitions is None and first is not None:
        answer = replace(first, limit=answer.limit)
    if answer.stopped is StopReason.INFEASIBLE:
        return MostCapacity(nothing_found(weights).report, StopReason.INFEASIBLE)
    return _reported(resolved, weights, each, answer, prices, time_limit_s)


def _reported(
    resolved: ResolvedProblem,
    weights: Weights,
    each: Floats,
    answer: MostRequests,
    prices: PriceLimit | None,
    time_limit_s: float,
) -> MostCapacity:
    capacity, limit = answer.capacity(resolved, each), _limit(resolved, answer, prices)
    if CAPACITY.is_within(0.0, capacity, limit, NO_GAP):
        limit = capacity
    return MostCapacity(
        CapacityReport(
            weights=weights,
            capacity=capacity,
            limit=limit,
            gap=CAPACITY.gap(capacity, limit),
            services=_services(resolved, answer.partitions),
            one_more={} if prices is None else _one_more(resolved, prices),
        ),
        answer.stopped,
        _plan(resolved, answer, time_limit_s),
    )


def _limit(resolved: ResolvedProblem, answer: MostRequests, prices: PriceLimit | None) -> float | None:
    proven = [] if prices is None else [prices.at(_counts(resolved))]
    return CAPACITY.strongest([*proven, *([] if answer.limit is None else [answer.limit])])


def _one_more(resolved: ResolvedProblem, prices: PriceLimit) -> dict[str, float]:
    counts = _counts(resolved)
    return {gpu: prices.at(counts | {gpu: number + 1}) for gpu, number in counts.items()}


def _counts(resolved: ResolvedProblem) -> dict[str, int]:
    return {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}


def _services(resolved: ResolvedProblem, partitions: Ints | None) -> tuple[ServiceCapacity, ...]:
    if partitions is None:
        return ()
    carried = (resolved.capacity_rps * partitions).sum(axis=1)
    return tuple(
        ServiceCapacity(workload=one.name, rate_rps=float(rate), capacity_rps=float(own))
        for one, rate, own in zip(resolved.problem.workloads, resolved.required_rps, carried, strict=True)
    )


def _plan(resolved: ResolvedProblem, answer: MostRequests, time_limit_s: float) -> Plan | None:
    """Returns the plan at the rates that are asked for, of whose cost nothing is said; None: none was found."""
    ended = answer.stopped is StopReason.TIME_LIMIT
    search = Search(
        stopped=StopReason.TIME_LIMIT if ended else StopReason.HEURISTIC_DONE,
        time_limit_s=time_limit_s if ended else None,
        solver=answer.solver,
    )
    gpus = [] if answer.partitions is None else alike_gpus(resolved, answer.patterns, answer.partitions)
    return None if not gpus else assemble(resolved, gpus, planner=PLANNER, bound=NO_BOUND, search=search)
