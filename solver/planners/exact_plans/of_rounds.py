"""Turns on MIG instances, whole GPUs and measured shares under MPS: packed by prices, with a bound of all plans."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from random import Random
from time import monotonic

import numpy as np

from ...allocation.assembly import without_plan
from ...allocation.rounds import Round, RoundsGpu, Turn
from ...allocation.rounds_on_instances import Instance, InstanceTurn, assemble_instances
from ...exact.cost_lattice import cost_lattice
from ...exact.mig.spare_rules import SpareRules, spare_rules
from ...exact.proof import ended, is_within
from ...exact.turns.columns.packing import Packing
from ...exact.turns.columns.slots import Content, Slots
from ...exact.turns.columns.spare_bound import Asked, bound_of_a_loss, bound_of_more_rate
from ...exact.turns.columns.whole_gpus import gpus_for
from ...model.plan import Bound, Plan, Search, Unserved
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TOLERANCE, turn_rule
from ...runtime.interruption import offer
from .rounds_kept_free import CutFor, FreeBeside
from .turning_partitions import TurningPartitions, turning_partitions

METHOD = "least share of a partition's time that each service needs (solver/exact/turns/columns/time_shares.py)"

METHOD_WITH_FREE = f"{METHOD}, with what is kept free (solver/exact/turns/columns/spare_bound.py)"

SOLVER = "packed by prices of a linear program (GLOP), GPUs by HiGHS through OR-Tools MathOpt"

IN_VAIN = 500
"""Attempts to improve a plan, one after the other without success, after which the search ends."""

BEFORE, TRIES = 20, 3
"""Attempts in vain after which services are exchanged, and how often that is tried for a cheaper plan."""

TO_BUILD = 0.3
"""Part of the time that is left for more than a first packing."""

DEAR = 1e3
"""How many times its price a size is taken to cost that is to be used only where no other serves."""

LEAST_PRICE = 1e-3
"""What a partition is taken to cost at least, as a part of the cheapest GPU: a price of 0 tells nothing of the best."""


def plan_rounds(resolved: ResolvedProblem, planner: str, *, time_limit_s: float) -> Plan:
    """Returns the cheapest plan that was found, with a bound of all plans; in equal time, equal plans."""
    until = monotonic() + time_limit_s
    rate_rps, rule, rules = resolved.required_rps, turn_rule(resolved.problem), spare_rules(resolved.problem.settings)
    more_rps = rate_rps * (1 + rules.rate) if rules is not None and rules.services else rate_rps
    # With the batches that a round may need where services need more.
    partitions = turning_partitions(replace(resolved, required_rps=more_rps), rule)
    slots, cuts = partitions.slots, partitions.cuts
    least = np.array([one.min_replicas for one in resolved.problem.workloads])
    most = np.array([float(one.max_replicas or inf) for one in resolved.problem.workloads])
    lattice, asked = cost_lattice(resolved), Asked.at(slots, rate_rps, rule, most)
    bound, slot_usd = asked.bound(cuts)
    bound = lattice.next_cost(bound)
    if rules is not None and rules.gpu_loss:
        bound = lattice.next_cost(bound_of_a_loss(bound, (entry.price_per_hour for entry in resolved.fleet)))
    if rules is not None and rules.services:
        more = Asked.at(slots, more_rps, rule, np.full(len(most), inf))
        bound = max(bound, lattice.next_cost(bound_of_more_rate(asked, more, cuts, slot_usd, rules.services)))
    stated = _bound(resolved, bound, METHOD if rules is None else METHOD_WITH_FREE)
    search = partial(Search, time_limit_s=time_limit_s, solver=SOLVER)
    if is_beyond_all(resolved, bound):
        return _without(resolved, planner, stated, search(stopped=StopReason.INFEASIBLE))

    offer(lambda stopped: _without(resolved, planner, stated, search(stopped=stopped)))
    greatest = np.max([one.alone_rps for one in slots], axis=0)
    if np.any(greatest == 0) or np.any(np.ceil(rate_rps / greatest * (1 - TOLERANCE)) > most):
        return _without(resolved, planner, stated, search(stopped=StopReason.GAP_LEFT))
    usd = np.maximum(slot_usd, LEAST_PRICE * min(entry.price_per_hour for entry in resolved.fleet))
    free = None if rules is None else FreeBeside(resolved, rules, partitions, usd)
    cheapest = _Cheapest(resolved, planner, partitions, stated, search, until, free)
    limited = cheapest.search_all(
        (Packing(slots, prices, rps, rule, (least, most)) for rps, prices in _ways(rate_rps, usd, rules)),
        until - TO_BUILD * time_limit_s,
    )
    if cheapest.found is None:
        return _without(
            resolved, planner, stated, search(stopped=StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT)
        )
    return cheapest.built(ended(cheapest.cost, bound, gap=resolved.gap, limited=limited))


def _ways(rate_rps: Floats, usd: Floats, rules: SpareRules | None) -> Iterator[tuple[Floats, Floats]]:
    """
    Yields rates and prices by which partitions are packed, where some are kept free in several ways.

    Where everybody's turns carry more, less is kept free; where a GPU may be lost, each size that is used has to be
    kept free somewhere, so that one size may do with less than the best mixture.
    """
    yield rate_rps, usd
    if rules is None:
        return
    rates = [rate_rps, rate_rps * (1 + rules.rate)] if rules.services else [rate_rps]
    prices = [usd]
    if rules.gpu_loss:
        prices += [np.where(np.arange(usd.size) == k, usd, DEAR * usd) for k in range(usd.size)]
    yield from [(own_rps, own_usd) for own_rps in rates for own_usd in prices][1:]


@dataclass(eq=False)
class _Cheapest:
    """The search for the cheapest plan."""

    resolved: ResolvedProblem
    planner: str
    partitions: TurningPartitions
    bound: Bound
    search: Callable[..., Search]
    until: float
    free: FreeBeside | None
    """What cuts GPUs where partitions are kept free."""
    found: tuple[list[tuple[str, list[Instance]]], list[RoundsGpu]] | None = None
    cost: float = inf
    free_usd: float = 0.0
    """Prices of the partitions that are kept free."""

    def __post_init__(self) -> None:
        self._lattice = cost_lattice(self.resolved)
        self._available = {entry.gpu.name: entry.available for entry in self.resolved.fleet}

    def built(self, stopped: StopReason) -> Plan:
        """Returns the cheapest plan that was found."""
        (gpus, under_mps), known = self.found or ([], []), self.search(stopped=stopped)
        return assemble_instances(self.resolved, gpus, under_mps, planner=self.planner, bound=self.bound, search=known)

    def search_all(self, packings: Iterator[Packing], first_until: float) -> bool:
        """
        Fills partitions in several ways, and improves what is best; tells whether the time ended that.

        `first_until`: the moment from which on services stand alone at first, and no further way is tried.
        """
        packing = next(packings)
        contents = packing.filled(first_until)
        self._is_cheaper(packing, contents)
        for another in packings:
            if self._is_enough or monotonic() >= first_until:
                break
            own = another.filled(first_until)
            if self._is_cheaper(another, own):
                packing, contents = another, own
        return self._improve(packing, contents)

    def _improve(self, packing: Packing, contents: list[Content]) -> bool:
        vain, tries, paid = 0, 0, packing.usd(contents)
        draw, exchange_draw = Random(1), np.random.default_rng(1)
        while not self._is_enough and vain < IN_VAIN and monotonic() < self.until:
            wanted_usd = self._wanted_usd(packing)
            # Where prices allow a cheaper plan already, GPUs cannot be cut into the partitions: no exchange mends that.
            if vain >= BEFORE and tries < TRIES and self.found is not None and wanted_usd < paid * (1 - TOLERANCE):
                tries += 1
                better = packing.exchanged(contents, wanted_usd, exchange_draw, self.until)
                # At prices of partitions alone it may cost less, and take as many GPUs.
                better = better if better is not None and self._is_cheaper(packing, better) else None
            else:
                better = packing.improved(contents, draw)
            contents, vain = (contents, vain + 1) if better is None else (better, 0)
            if packing.usd(contents) < paid:
                paid, tries = packing.usd(contents), 0
                self._is_cheaper(packing, contents)
        return vain < IN_VAIN

    @property
    def _is_enough(self) -> bool:
        return is_within(self.resolved.gap, self.cost, self.bound.cost_per_hour)

    def _wanted_usd(self, packing: Packing) -> float:
        """Returns what contents may cost at the prices of partitions, if GPUs are to cost less."""
        return self._lattice.cost_below(self.cost) - packing.usd(packing.whole) - self.free_usd

    def _is_cheaper(self, packing: Packing, contents: Sequence[Content]) -> bool:
        """Deals GPUs to contents, and tells whether their plan costs less than all before: then it is the best."""
        cut_for = self._cut([*packing.whole, *packing.owned(contents)], max(0.1, self.until - monotonic()))
        if cut_for is None:
            return False
        found = _dealt(cut_for, self.partitions)
        used = [*(gpu for gpu, _ in found[0]), *(one.gpu for one in found[1])]
        own = sum(self.resolved.fleet_by_name[gpu].price_per_hour for gpu in used)
        if own >= self.cost:
            return False
        self.found, self.cost = found, own
        self.free_usd = packing.usd(one for one in cut_for.contents if not one.services)
        offer(self.built)
        return True

    def _cut(self, contents: Sequence[Content], left_s: float) -> CutFor | None:
        """Returns the cheapest GPUs that have the partitions of some contents, and those that are kept free."""
        if self.free is not None:
            return self.free.cut(contents, left_s)
        cuts = self.partitions.usable_cuts
        counts = gpus_for(contents, cuts, self._available, self._lattice, left_s)
        return None if counts is None else CutFor(contents, cuts, counts)


def _dealt(cut_for: CutFor, partitions: TurningPartitions) -> tuple[list[tuple[str, list[Instance]]], list[RoundsGpu]]:
    """Returns the GPUs on which anything stands: those that are cut by MIG or used whole, and those under MPS."""
    waiting: defaultdict[int, deque[Content]] = defaultdict(deque)
    for one in cut_for.contents:
        waiting[one.slot].append(one)
    cut_up: list[tuple[str, list[Instance]]] = []
    under_mps: list[RoundsGpu] = []
    for cut, number in zip(cut_for.cuts, cut_for.counts, strict=True):
        for _ in range(number):
            own = [waiting[k].popleft() for k, times in cut.counts.items() for _ in range(min(times, len(waiting[k])))]
            shared = all(partitions.percent[one.slot] is not None for one in own)
            if own and shared:
                under_mps.append(RoundsGpu(cut.gpu, tuple(_round(one, partitions) for one in own)))
            elif own:
                cut_up.append((cut.gpu, [_instance(one, partitions.slots) for one in own]))
    order = {cut.gpu: i for i, cut in reversed(list(enumerate(cut_for.cuts)))}
    return cut_up, sorted(under_mps, key=lambda one: order[one.gpu])


def _round(content: Content, partitions: TurningPartitions) -> Round:
    """Returns a round on a share under MPS; a service that has it for itself has a round there too."""
    percent, one = partitions.percent[content.slot], partitions.slots[content.slot]
    if percent is None or content.options is None or content.round_ms is None:
        raise RuntimeError(f"services {content.services} have no round on {one.name} of {one.gpu}")
    turns = zip(content.services, content.options, strict=True)
    return Round(percent, tuple(Turn(w, int(one.batch[w, j])) for w, j in turns), content.round_ms)


def _instance(content: Content, slots: Sequence[Slots]) -> Instance:
    if not content.services:
        return Instance(content.slot, None)
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


def _bound(resolved: ResolvedProblem, cost: float, method: str) -> Bound:
    usd = {entry.price_per_hour for entry in resolved.fleet}
    return Bound(cost_per_hour=cost, gpus=round(cost / usd.pop()) if len(usd) == 1 else None, method=method)


def _without(resolved: ResolvedProblem, planner: str, bound: Bound, search: Search) -> Plan:
    reason = "no plan was found in time; this proves nothing"
    if search.stopped is StopReason.INFEASIBLE:
        reason = too_few(bound)
    elif search.stopped is StopReason.GAP_LEFT:
        reason = "no plan was found with the GPUs that there are, and their memory; this proves nothing"
    unserved = [Unserved(workload=one.name, reason=reason) for one in resolved.problem.workloads]
    return without_plan(resolved, unserved, planner=planner, search=search, bound=bound)
