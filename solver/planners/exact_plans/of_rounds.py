"""Turns on MIG instances, whole GPUs and measured shares under MPS: packed by prices, with a bound of all plans."""

from collections import defaultdict, deque
from collections.abc import Sequence
from functools import partial
from math import inf
from random import Random
from time import monotonic

import numpy as np

from ...allocation.assembly import without_plan
from ...allocation.rounds import Round, RoundsGpu, Turn
from ...allocation.rounds_on_instances import Instance, InstanceTurn, assemble_instances
from ...exact.cost_lattice import cost_lattice
from ...exact.proof import ended, is_within
from ...exact.turns.columns.packing import Packing
from ...exact.turns.columns.slots import Content, Slots
from ...exact.turns.columns.time_shares import MostReplicas, cost_bound, greatest_parts, slot_prices, time_shares
from ...exact.turns.columns.whole_gpus import gpus_for
from ...model.plan import Bound, Plan, Search, Unserved
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TOLERANCE, turn_rule
from ...runtime.interruption import offer
from .turning_partitions import TurningPartitions, turning_partitions

METHOD = "least share of a partition's time that each service needs (solver/exact/turns/columns/time_shares.py)"

SOLVER = "packed by prices of a linear program (GLOP), GPUs by HiGHS through OR-Tools MathOpt"

IN_VAIN = 500
"""Attempts to improve a plan, one after the other without success, after which the search ends."""

BEFORE, TRIES = 20, 3
"""Attempts in vain after which services are exchanged, and how often that is tried for a cheaper plan."""

TO_BUILD = 0.3
"""Part of the time that is left for more than a first packing."""

LEAST_PRICE = 1e-3
"""What a partition is taken to cost at least, as a part of the cheapest GPU: a price of 0 tells nothing of the best."""


def plan_rounds(resolved: ResolvedProblem, planner: str, *, time_limit_s: float) -> Plan:
    """Returns the cheapest plan that was found, with a bound of all plans; in equal time, equal plans."""
    until = monotonic() + time_limit_s
    rate_rps, lattice, rule = resolved.required_rps, cost_lattice(resolved), turn_rule(resolved.problem)
    partitions = turning_partitions(resolved, rule)
    slots, cuts = partitions.slots, partitions.cuts
    shares = np.array([time_shares(one, rate_rps, rule) for one in slots])
    least = np.array([one.min_replicas for one in resolved.problem.workloads])
    most = np.array([float(one.max_replicas or inf) for one in resolved.problem.workloads])
    replicas = MostReplicas(most, np.array([greatest_parts(one, rate_rps, rule) for one in slots]))
    slot_usd, replica_usd = slot_prices(shares, cuts, replicas)
    bound = lattice.next_cost(cost_bound(slot_usd, shares, cuts, replicas, replica_usd))
    stated = _bound(resolved, bound)
    search = partial(Search, time_limit_s=time_limit_s, solver=SOLVER)
    if is_beyond_all(resolved, bound):
        return _without(resolved, planner, stated, search(stopped=StopReason.INFEASIBLE))

    offer(lambda stopped: _without(resolved, planner, stated, search(stopped=stopped)))
    greatest = np.max([one.alone_rps for one in slots], axis=0)
    if np.any(greatest == 0) or np.any(np.ceil(rate_rps / greatest * (1 - TOLERANCE)) > most):
        return _without(resolved, planner, stated, search(stopped=StopReason.GAP_LEFT))
    floor = LEAST_PRICE * min(entry.price_per_hour for entry in resolved.fleet)
    packing = Packing(slots, np.maximum(slot_usd, floor), rate_rps, rule, (least, most))
    available = {entry.gpu.name: entry.available for entry in resolved.fleet}
    contents, vain, tries, paid = packing.filled(until - TO_BUILD * time_limit_s), 0, 0, inf
    draw, exchange_draw = Random(1), np.random.default_rng(1)
    best: tuple[list[tuple[str, list[Instance]]], list[RoundsGpu]] | None = None
    cost = inf

    def built(stopped: StopReason) -> Plan:
        (gpus, under_mps), known = best or ([], []), search(stopped=stopped)
        return assemble_instances(resolved, gpus, under_mps, planner=planner, bound=stated, search=known)

    def wanted_usd() -> float:
        """Returns what contents may cost at the prices of partitions, if GPUs are to cost less."""
        return lattice.cost_below(cost) - packing.usd(packing.whole)

    def is_cheaper(contents: Sequence[Content]) -> bool:
        """Deals GPUs to contents, and tells whether their plan costs less than all before: then it is the best."""
        nonlocal best, cost
        everything, left_s = [*packing.whole, *packing.owned(contents)], max(0.1, until - monotonic())
        counts = gpus_for(everything, partitions.usable_cuts, available, lattice, left_s)
        if counts is None:
            return False
        found = _dealt(everything, partitions, counts)
        used = [*(gpu for gpu, _ in found[0]), *(one.gpu for one in found[1])]
        own = sum(resolved.fleet_by_name[gpu].price_per_hour for gpu in used)
        if own >= cost:
            return False
        best, cost = found, own
        offer(built)
        return True

    while True:
        if packing.usd(contents) < paid:
            paid, tries = packing.usd(contents), 0
            is_cheaper(contents)
        if is_within(resolved.gap, cost, bound) or vain >= IN_VAIN or monotonic() >= until:
            break
        # Where prices allow a cheaper plan already, GPUs cannot be cut into the partitions: no exchange mends that.
        if vain >= BEFORE and tries < TRIES and best is not None and wanted_usd() < paid * (1 - TOLERANCE):
            tries += 1
            better = packing.exchanged(contents, wanted_usd(), exchange_draw, until)
            # At prices of partitions alone it may cost less, and take as many GPUs.
            better = better if better is not None and is_cheaper(better) else None
        else:
            better = packing.improved(contents, draw)
        contents, vain = (contents, vain + 1) if better is None else (better, 0)
    limited = vain < IN_VAIN
    if best is None:
        return _without(
            resolved, planner, stated, search(stopped=StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT)
        )
    return built(ended(cost, bound, gap=resolved.gap, limited=limited))


def _dealt(
    contents: Sequence[Content], partitions: TurningPartitions, counts: Sequence[int]
) -> tuple[list[tuple[str, list[Instance]]], list[RoundsGpu]]:
    """Returns the GPUs on which anything stands: those that are cut by MIG or used whole, and those under MPS."""
    waiting: defaultdict[int, deque[Content]] = defaultdict(deque)
    for one in contents:
        waiting[one.slot].append(one)
    cut_up: list[tuple[str, list[Instance]]] = []
    under_mps: list[RoundsGpu] = []
    for cut, number in zip(partitions.usable_cuts, counts, strict=True):
        for _ in range(number):
            own = [waiting[k].popleft() for k, times in cut.counts.items() for _ in range(min(times, len(waiting[k])))]
            shared = all(partitions.percent[one.slot] is not None for one in own)
            if own and shared:
                under_mps.append(RoundsGpu(cut.gpu, tuple(_round(one, partitions) for one in own)))
            elif own:
                cut_up.append((cut.gpu, [_instance(one, partitions.slots) for one in own]))
    order = {cut.gpu: i for i, cut in reversed(list(enumerate(partitions.usable_cuts)))}
    return cut_up, sorted(under_mps, key=lambda one: order[one.gpu])


def _round(content: Content, partitions: TurningPartitions) -> Round:
    """Returns a round on a share under MPS; a service that has it for itself has a round there too."""
    percent, one = partitions.percent[content.slot], partitions.slots[content.slot]
    if percent is None or content.options is None or content.round_ms is None:
        raise RuntimeError(f"services {content.services} have no round on {one.name} of {one.gpu}")
    turns = zip(content.services, content.options, strict=True)
    return Round(percent, tuple(Turn(w, int(one.batch[w, j])) for w, j in turns), content.round_ms)


def _instance(content: Content, slots: Sequence[Slots]) -> Instance:
    if content.options is None:
        return Instance(content.slot, content.services[0])
    one = slots[content.slot]
    turns = zip(content.services, content.options, content.carried_rps, strict=True)
    return Instance(
        content.slot,
        None,
        tuple(InstanceTurn(w, int(one.batch[w, j]), float(one.latency_ms[w, j]), rps) for w, j, rps in turns),
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
        reason = "no plan was found with the GPUs that there are, and their memory; this proves nothing"
    unserved = [Unserved(workload=one.name, reason=reason) for one in resolved.problem.workloads]
    return without_plan(resolved, unserved, planner=planner, search=search, bound=bound)
