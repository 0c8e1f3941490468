"""Turns on MIG instances and whole GPUs: packed by prices, with a bound of all plans."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import partial
from math import inf
from random import Random
from time import monotonic

import numpy as np

from ...allocation.assembly import without_plan
from ...allocation.rounds_on_instances import Instance, InstanceTurn, assemble_instances
from ...exact.cost_lattice import cost_lattice
from ...exact.mig.patterns import patterns_of
from ...exact.proof import ended, is_within
from ...exact.turns.columns.packing import Packing
from ...exact.turns.columns.slots import Content, Slots, slots_of
from ...exact.turns.columns.time_shares import Cut, cost_bound, slot_prices, time_shares
from ...exact.turns.columns.whole_gpus import gpus_for
from ...model.plan import Bound, Plan, Search, Unserved
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem, usable_points
from ...performance.turns.rounds import request_may_take_ms
from ...runtime.interruption import offer

METHOD = "least share of a partition's time that each service needs (solver/exact/turns/columns/time_shares.py)"

SOLVER = "packed by prices of a linear program (GLOP), GPUs by HiGHS through OR-Tools MathOpt"

IN_VAIN = 500
"""Attempts to improve a plan, one after the other without success, after which the search ends."""

TO_BUILD = 0.3
"""Part of the time that is left for more than a first packing."""

LEAST_PRICE = 1e-3
"""What a partition is taken to cost at least, as a part of the cheapest GPU: a price of 0 tells nothing of the best."""


def plan_rounds(resolved: ResolvedProblem, planner: str, *, time_limit_s: float) -> Plan:
    """Returns the cheapest plan that was found, with a bound of all plans; in equal time, equal plans."""
    until = monotonic() + time_limit_s
    settings, rate_rps = resolved.problem.settings, resolved.required_rps
    slots_kept, lattice = settings.turns == "fixed", cost_lattice(resolved)
    slo_ms = np.array([request_may_take_ms(settings, one.slo_ms) for one in resolved.problem.workloads])
    slots = [_slots(resolved, k, slo_ms) for k in range(len(resolved.sizes))]
    cuts = _cuts(resolved)
    shares = np.array([time_shares(one, rate_rps, slo_ms, slots_kept=slots_kept) for one in slots])
    slot_usd = slot_prices(shares, cuts)
    bound = lattice.next_cost(cost_bound(slot_usd, shares, cuts))
    stated = _bound(resolved, bound)
    search = partial(Search, time_limit_s=time_limit_s, solver=SOLVER)
    if is_beyond_all(resolved, bound):
        return _without(resolved, planner, stated, search(stopped=StopReason.INFEASIBLE))

    offer(lambda stopped: _without(resolved, planner, stated, search(stopped=stopped)))
    floor = LEAST_PRICE * min(entry.price_per_hour for entry in resolved.fleet)
    packing = Packing(slots, np.maximum(slot_usd, floor), rate_rps, slo_ms, slots_kept=slots_kept)
    available = {entry.gpu.name: entry.available for entry in resolved.fleet}
    contents, draw, vain, paid = packing.filled(until - TO_BUILD * time_limit_s), Random(1), 0, inf
    best: list[tuple[str, list[Instance]]] | None = None
    cost = inf

    def built(stopped: StopReason) -> Plan:
        gpus, known = best or [], search(stopped=stopped)
        return assemble_instances(resolved, gpus, planner=planner, bound=stated, search=known)

    while True:
        if packing.usd(contents) < paid:
            paid = packing.usd(contents)
            counts = gpus_for([*packing.whole, *contents], cuts, available, lattice, max(0.1, until - monotonic()))
            if counts is not None:
                found = list(_dealt([*packing.whole, *contents], slots, cuts, counts))
                own = sum(resolved.fleet_by_name[gpu].price_per_hour for gpu, _ in found)
                if own < cost:
                    best, cost = found, own
                    offer(built)
        if is_within(resolved.gap, cost, bound) or vain >= IN_VAIN or monotonic() >= until:
            break
        better = packing.improved(contents, draw)
        contents, vain = (contents, vain + 1) if better is None else (better, 0)
    limited = vain < IN_VAIN
    if best is None:
        return _without(
            resolved, planner, stated, search(stopped=StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT)
        )
    return built(ended(cost, bound, gap=resolved.gap, limited=limited))


def _slots(resolved: ResolvedProblem, k: int, slo_ms: Floats) -> Slots:
    size, none = resolved.sizes[k], np.zeros(0)
    points, looked_up = [], {}
    for workload in resolved.problem.workloads:
        alike = workload.model, workload.gpus, workload.batch_sizes, workload.memory_mib
        if alike not in looked_up:
            looked_up[alike] = usable_points(1, workload, size, resolved.points)
        usable = looked_up[alike]
        if usable is None:
            points.append((none.astype(np.int64), none, none))
        else:
            memory = (
                usable.memory_mib if workload.memory_mib is None else np.full(usable.batch.size, workload.memory_mib)
            )
            points.append((usable.batch, usable.latency_ms, memory))
    memory_mib = size.mig.memory_mib if size.mig else resolved.fleet_by_name[size.gpu].facts.memory_mib
    return slots_of(
        size.gpu,
        size.name,
        points,
        alone_rps=resolved.capacity_rps[:, k],
        rate_rps=resolved.required_rps,
        slo_ms=slo_ms,
        capacity_mib=inf if memory_mib is None else float(memory_mib),
    )


def _cuts(resolved: ResolvedProblem) -> list[Cut]:
    index = {(size.gpu, size.name): k for k, size in enumerate(resolved.sizes)}
    return [
        Cut(
            pattern.gpu,
            entry.price_per_hour,
            {index[pattern.gpu, name]: number for name, number in Counter(pattern.profiles).items()},
        )
        for entry in resolved.fleet
        for pattern in patterns_of(resolved, entry)
    ]


def _dealt(
    contents: Sequence[Content], slots: Sequence[Slots], cuts: Sequence[Cut], counts: Sequence[int]
) -> Iterator[tuple[str, list[Instance]]]:
    """Yields the GPUs on which anything stands."""
    waiting: defaultdict[int, deque[Content]] = defaultdict(deque)
    for one in contents:
        waiting[one.slot].append(one)
    for cut, number in zip(cuts, counts, strict=True):
        for _ in range(number):
            own = [
                _instance(waiting[k].popleft(), slots)
                for k, times in cut.counts.items()
                for _ in range(min(times, len(waiting[k])))
            ]
            if own:
                yield cut.gpu, own


def _instance(content: Content, slots: Sequence[Slots]) -> Instance:
    if content.options is None:
        return Instance(content.slot, content.services[0])
    one = slots[content.slot]
    turns = zip(content.services, content.options, strict=True)
    return Instance(
        content.slot,
        None,
        tuple(InstanceTurn(w, int(one.batch[w, j]), float(one.latency_ms[w, j])) for w, j in turns),
    )


def is_beyond_all(resolved: ResolvedProblem, cost: float) -> bool:
    """Tells whether a cost, USD per hour, is more than that of all GPUs that there are."""
    there = sum(e.price_per_hour * (inf if e.available is None else e.available) for e in resolved.fleet)
    return cost > there * (1 + 1e-9)


def too_few(bound: Bound) -> str:
    """Returns why no plan is possible whose bound is beyond all GPUs that there are."""
    needed = f"${bound.cost_per_hour:g} per hour" if bound.gpus is None else f"{bound.gpus} GPUs"
    return f"all services together need at least {needed}, more than there are"


def _bound(resolved: ResolvedProblem, cost: float) -> Bound:
    usd = {entry.price_per_hour for entry in resolved.fleet}
    return Bound(cost_per_hour=cost, gpus=round(cost / usd.pop()) if len(usd) == 1 else None, method=METHOD)


def _without(resolved: ResolvedProblem, planner: str, bound: Bound, search: Search) -> Plan:
    reason = "no plan was found in time; this proves nothing"
    if search.stopped is StopReason.INFEASIBLE:
        reason = too_few(bound)
    elif search.stopped is StopReason.GAP_LEFT:
        reason = "no plan was found with the GPUs that there are; this proves nothing"
    unserved = [Unserved(workload=one.name, reason=reason) for one in resolved.problem.workloads]
    return without_plan(resolved, unserved, planner=planner, search=search, bound=bound)
