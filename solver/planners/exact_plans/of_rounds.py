"""Turns on MIG instances, whole GPUs and shares under MPS: packed by prices, with a bound of all plans."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from time import monotonic

import numpy as np

from ...allocation.assembly import without_plan
from ...exact.cost_lattice import cost_lattice
from ...exact.mig.spare_rules import SpareRules, spare_rules
from ...exact.proof import ended
from ...exact.turns.columns.asked import Asked
from ...exact.turns.columns.crowds import bound_of_crowds
from ...exact.turns.columns.packing import Packing
from ...exact.turns.columns.spare_bound import bound_of_a_loss, bound_of_more_rate
from ...exact.turns.dealt_time.dealing import TimeDealing
from ...model.plan import Bound, Plan, Search, Unserved
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TOLERANCE, TurnRule, turn_rule
from ...runtime.interruption import offer
from .cheapest_rounds import Cheapest, Way
from .dealt_turns import dealing_of
from .priced_rounds import priced_rounds
from .rounds_kept_free import FreeBeside
from .slowed_shares import ALONE, Surroundings, crowded, crowds_of, is_slowed_by_igniter, shares_in
from .turning_partitions import TurningPartitions, turning_partitions

METHOD = "least share of a partition's time that each service needs (solver/exact/turns/columns/time_shares.py)"

METHOD_WITH_FREE = f"{METHOD}, with what is kept free (solver/exact/turns/columns/spare_bound.py)"

METHOD_DEALT = (
    "least part of a share's time that each service needs, at what the share is dealt of its GPU, by boxes of "
    "surroundings (solver/exact/turns/dealt_time/dealt_time.py)"
)

METHOD_BESIDE = f"{METHOD}, beside neighbours that ask least (solver/exact/turns/columns/crowds.py)"

SOLVER = "packed by prices of a linear program (GLOP), GPUs by HiGHS through OR-Tools MathOpt"

TO_DEAL = 0.55
"""Part of the time that is left for a nearer bound where shares slow each other."""

JUST_MORE = 1 + 1e-5
"""Times what a cheaper plan may cost, or all GPUs, that a bound has to be, for there to be none."""

TO_BUILD = 0.3
"""Part of the time that is left for more than a first packing."""

DEAR = 1e3
"""How many times its price a size is taken to cost that is to be used only where no other serves."""

LEAST_PRICE = 1e-3
"""What a partition is taken to cost at least, as a part of the cheapest GPU: a price of 0 tells nothing of the best."""

MOST_ALIKE = 4
"""Shares of a GPU that are packed as if all GPUs had so many."""

SURROUNDINGS = 2
"""How often shares are packed as in the surroundings on the GPUs that were dealt before."""

MOST_FOR_DIVISIONS = 50
"""Services that slow each other of which a program looks at divisions of GPUs: of more the bound by crowds is above."""

LENGTHS = 16
"""Of rounds that are tried on each size of share: with more, plans are found later that take as many GPUs."""

PARTS_OF_EVEN = 0.5, 0.75, 1.0, 1.25, 1.5
"""Sizes of shares on which rounds are looked for, as parts of what each has if they are alike."""


def plan_rounds(resolved: ResolvedProblem, planner: str, *, time_limit_s: float) -> Plan:
    """Returns the cheapest plan that was found, with a bound of all plans; in equal time, equal plans."""
    begun = monotonic()
    until = begun + time_limit_s
    rate_rps, rule, rules = resolved.required_rps, turn_rule(resolved.problem), spare_rules(resolved.problem.settings)
    more_rps = rate_rps * (1 + rules.rate) if rules is not None and rules.services else rate_rps
    # With the batches that a round may need where services need more.
    partitions = turning_partitions(replace(resolved, required_rps=more_rps), rule)
    slots, cuts = partitions.slots, partitions.cuts
    least = np.array([one.min_replicas for one in resolved.problem.workloads])
    most = np.array([float(one.max_replicas or inf) for one in resolved.problem.workloads])
    lattice, asked = cost_lattice(resolved), Asked.at(slots, rate_rps, rule, most)
    many_beside = partitions.are_all_divided and len(rate_rps) > MOST_FOR_DIVISIONS
    bound, slot_usd = (0.0, partitions.by_units()) if many_beside else asked.bound(cuts, partitions.divided)
    bound = lattice.next_cost(bound)
    dealing: TimeDealing | None = None
    if partitions.divided:
        slowed = [entry for entry in resolved.fleet if is_slowed_by_igniter(resolved, entry)]
        crowds = [crowds_of(resolved, entry, rule, time_limit_s) for entry in slowed]
        elsewhere, dearest = partitions.beside_divided(asked.shares, slot_usd)
        bound = max(bound, lattice.next_cost(bound_of_crowds(crowds, elsewhere, dearest)))
        dealing = dealing_of(resolved, rule, elsewhere, dearest)
    if rules is not None and rules.gpu_loss:
        bound = lattice.next_cost(bound_of_a_loss(bound, (entry.price_per_hour for entry in resolved.fleet)))
    if rules is not None and rules.services:
        more = Asked.at(slots, more_rps, rule, np.full(len(most), inf))
        bound = max(bound, lattice.next_cost(bound_of_more_rate(asked, more, cuts, slot_usd, rules.services)))
    method = METHOD_BESIDE if partitions.divided else METHOD if rules is None else METHOD_WITH_FREE
    stated = _bound(resolved, bound, method)
    search = partial(Search, time_limit_s=time_limit_s, solver=SOLVER)
    if is_beyond_all(resolved, bound):
        return _without(resolved, planner, stated, search(stopped=StopReason.INFEASIBLE))

    offer(lambda stopped: _without(resolved, planner, stated, search(stopped=stopped)))
    greatest = np.max([one.alone_rps for one in slots], axis=0)
    if np.any(greatest == 0) or np.any(np.ceil(rate_rps / greatest * (1 - TOLERANCE)) > most):
        return _without(resolved, planner, stated, search(stopped=StopReason.GAP_LEFT))
    usd = np.maximum(slot_usd, LEAST_PRICE * min(entry.price_per_hour for entry in resolved.fleet))
    free = None if rules is None else FreeBeside(resolved, rules, partitions, usd)
    build_s = time_limit_s if dealing is None else time_limit_s * (1 - TO_DEAL)
    by_prices = priced_rounds(resolved, rule, greatest, (least, most)) if partitions.are_all_divided else None
    cheapest = Cheapest(resolved, planner, stated, search, begun + build_s, free, by_prices)
    ways = _Ways(resolved, partitions, usd, rule, (least, most))
    every = ways.slowed(cheapest.around) if partitions.divided else ways.fixed(rules)
    limited = cheapest.search_all(every, begun + build_s - TO_BUILD * build_s)
    if dealing is not None and not cheapest.is_enough:
        wanted = min(lattice.cost_below(cheapest.cost), _all_there(resolved)) * JUST_MORE
        nearer = lattice.next_cost(dealing.cost(wanted, until))
        if nearer > bound:
            bound, cheapest.bound = nearer, _bound(resolved, nearer, METHOD_DEALT)
            offer(cheapest.built)
    if is_beyond_all(resolved, bound):
        return _without(resolved, planner, cheapest.bound, search(stopped=StopReason.INFEASIBLE))
    if cheapest.found is None:
        return _without(
            resolved, planner, cheapest.bound, search(stopped=StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT)
        )
    return cheapest.built(ended(cheapest.cost, bound, gap=resolved.gap, limited=limited))


@dataclass(frozen=True, eq=False)
class _Ways:
    """Rates and prices by which partitions are packed."""

    resolved: ResolvedProblem
    partitions: TurningPartitions
    usd: Floats
    """Shape (slots,): of partitions."""
    rule: TurnRule
    replicas: tuple[Ints, Floats]

    def fixed(self, rules: SpareRules | None) -> Iterator[Way]:
        """
        Yields them where a partition is what it is whatever stands on others.

        Where everybody's turns carry more, less is kept free; where a GPU may be lost, each size that is used has to
        be kept free somewhere, so that one size may do with less than the best mixture.
        """
        rates, prices = [self.resolved.required_rps], [self.usd]
        if rules is not None and rules.services:
            rates.append(rates[0] * (1 + rules.rate))
        if rules is not None and rules.gpu_loss:
            usd, sizes = self.usd, np.arange(self.usd.size)
            prices += [np.where(sizes == k, usd, DEAR * usd) for k in sizes.tolist()]
        for rps in rates:
            for own in prices:
                yield Way(Packing(self.partitions.slots, own, rps, self.rule, self.replicas), self.partitions)

    def slowed(self, around: Mapping[str, Surroundings]) -> Iterator[Way]:
        """
        Yields them where shares slow each other: GPUs with one, two, ... shares, then as those that were dealt last.

        `around`: filled in by whoever deals, before it asks for the next.
        """
        for number in range(1, MOST_ALIKE + 1):
            yield from self._in(
                {one.gpu: crowded(self.resolved.mps[one.gpu], number) for one in self.partitions.divided}
            )
        for _ in range(SURROUNDINGS):
            yield from self._in(around)

    def _in(self, around: Mapping[str, Surroundings]) -> Iterator[Way]:
        """Yields what there is in some surroundings; nothing where a service cannot be served there."""
        slots, sizes = list(self.partitions.slots), list(range(len(self.partitions.slots)))
        usd, batches = self.usd.copy(), dict[int, Ints]()
        for one in self.partitions.divided:
            own, units = around.get(one.gpu, ALONE), len(one.slots)
            mps = self.resolved.mps[one.gpu]
            shares = shares_in(self.resolved, mps, self.rule, own)
            slots[one.slots[0] : one.slots[-1] + 1] = shares.slots
            batches |= dict(zip(one.slots, shares.batch, strict=True))
            parts = PARTS_OF_EVEN if own.shares > 1 else (1,)
            looked = {max(mps.least_units, round(units / own.shares * part)) for part in parts}
            sizes = [k for k in sizes if k not in one.slots or k - one.slots[0] + 1 in looked]
            # Of small shares there would be many on a GPU, who slow each other more than is counted here.
            every = np.arange(1, units + 1)
            usd[list(one.slots)] = one.usd * every / units * np.where(np.isin(every, list(looked)), 1.0, DEAR)
        if np.all(np.max([one.alone_rps for one in slots], axis=0) > 0):
            packing = Packing(slots, usd, self.resolved.required_rps, self.rule, self.replicas, sizes, LENGTHS)
            yield Way(packing, replace(self.partitions, slots=tuple(slots)), batches)


def is_beyond_all(resolved: ResolvedProblem, cost: float) -> bool:
    """Tells whether a cost, USD per hour, is more than that of all GPUs that there are."""
    return cost > _all_there(resolved) * (1 + 1e-9)


def _all_there(resolved: ResolvedProblem) -> float:
    """Returns what all GPUs cost that there are, USD per hour; inf: there are as many as needed."""
    return float(sum(e.price_per_hour * (inf if e.available is None else e.available) for e in resolved.fleet))


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
