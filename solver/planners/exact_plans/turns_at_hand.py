"""
What there is of least cost with turns before a search: a bound, and plans in which nobody takes turns.

Plans: a partition that serves one service back to back is one of a plan with turns, too, so what the planner without
turns has at hand (at_hand.py) is a plan of this problem, if it holds there: whoever takes it verifies it.

The bound is that of time_shares.py at prices for which no program is solved. A partition costs the part of its GPU that
it is: a MIG instance by its compute slices, of the most that any cut has; a share under MPS by its percentage, of what
shares divide; cores by their number, of all that their CPU has; a whole GPU all of it. So the partitions of a GPU cost
together its price at most, however it is cut. Each service needs at least tau of a partition's time, so it pays at
least the least of (price of a partition) tau, and a plan costs no less than what all pay. On shares that slow each
other services are taken as if alone, which is the first line of crowds.py: no neighbour makes anyone
faster.

A percentile takes longer to look up than there is time, so here a turn carries all of its batches, and a share as many
requests/s as it executes, if a batch is executed within the SLO. What keeps a percentile of requests at random does
both and carries no more, so that each tau is one of a looser rule, and no greater.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from ...allocation.assembly import UNKNOWN_BOUND
from ...exact.cost_lattice import cost_lattice
from ...exact.turns.columns.slots import Slots
from ...exact.turns.columns.time_shares import time_shares
from ...model.cpu import Cpu
from ...model.geometry import maximal_multisets, placement_rules
from ...model.plan import Bound, Plan, Status
from ...performance.fleet_types import FleetType
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TurnRule, turn_rule
from ...performance.unservable import unservable
from ..exact import Exact
from ..planner import AtHand
from .answers import bound_of, with_bound
from .at_hand import NO_SEARCH
from .slowed_shares import at_best, is_slowed_by_igniter
from .turning_partitions import Points, measured_shares, points_of_instances, points_of_share, shared_percent

PARTS = (
    "least share of a partition's time that each service needs, at prices of partitions by their part of a GPU "
    "(solver/planners/exact_plans/turns_at_hand.py)"
)


def turns_at_hand(resolved: ResolvedProblem, planner: str) -> AtHand:
    """Returns a bound of all plans, and plans without turns."""
    bound = _bound(resolved)
    return AtHand(bound, partial(_without_turns, resolved, planner, bound))


def is_planned_without_turns(resolved: ResolvedProblem) -> bool:
    """Tells whether `exact` plans the problem if nobody takes turns, and every service can be served then."""
    settings = resolved.problem.settings.model_copy(update={"turns": "none"})
    alone = replace(resolved, problem=resolved.problem.model_copy(update={"settings": settings}))
    return not Exact().refuses(alone) and not unservable(alone)


def _without_turns(resolved: ResolvedProblem, planner: str, bound: Bound) -> Iterator[Plan]:
    """Yields plans of the problem in which nobody takes turns, if that one is planned."""
    if not is_planned_without_turns(resolved):
        return
    known = Exact().at_hand(resolved)
    for plan in known.plans() if known is not None else ():
        # What it may have proven holds of plans without turns alone, as its prices do.
        status = Status.FEASIBLE if plan.status is Status.OPTIMAL else plan.status
        update = {"planner": planner, "prices": None, "search": NO_SEARCH, "status": status}
        yield with_bound(plan.model_copy(update=update), bound)


def _bound(resolved: ResolvedProblem) -> Bound:
    """Returns what any plan costs at least; unknown where the GPUs that there are cost less."""
    least = paid_by_parts(resolved)
    there = sum(inf if one.available is None else one.available * one.price_per_hour for one in resolved.fleet)
    if not 0 < least <= there:
        return UNKNOWN_BOUND.model_copy(update={"method": "none: the search ended before it had one"})
    return bound_of(resolved, cost_lattice(resolved).next_cost(least), PARTS)


def paid_by_parts(resolved: ResolvedProblem) -> float:
    """Returns what all services pay together at least, USD per hour; inf: some are served nowhere."""
    return float(paid_by_each(resolved).sum())


def paid_by_each(resolved: ResolvedProblem) -> Floats:
    """Returns what each service pays at least, USD per hour, shape (service,)."""
    # Of a percentile the looser rule: every turn carries all of its batches.
    rule = replace(turn_rule(resolved.problem), quantile=None)
    paid = np.full(len(resolved.required_rps), np.inf)
    for entry in resolved.fleet:
        for part, taken in _taken(resolved, entry, rule):
            paid = np.minimum(paid, entry.price_per_hour * part * taken)
    return paid


def _taken(resolved: ResolvedProblem, entry: FleetType, rule: TurnRule) -> Iterator[tuple[float, Floats]]:
    """Yields of each kind of partition which part of its GPU it is, and how much of its time services need."""
    rate_rps = resolved.required_rps
    for k, part in _parts_of_sizes(resolved, entry).items():
        slots = every_batch(entry, points_of_instances(resolved, k), resolved.capacity_rps[:, k])
        yield part, time_shares(slots, rate_rps, rule)
    if is_slowed_by_igniter(resolved, entry):
        mps = resolved.mps[entry.gpu.name].promising(None)
        shares = at_best(resolved, mps, 1).shares(mps, rate_rps, rule)
        yield from ((units / len(shares), own) for units, own in enumerate(shares, start=1))
    elif "mps" in entry.sharing:
        nobody = np.zeros(len(rate_rps))
        for share in measured_shares(resolved, entry):
            slots = every_batch(entry, points_of_share(resolved, entry, share), nobody)
            yield share / shared_percent(resolved), time_shares(slots, rate_rps, rule)


def _parts_of_sizes(resolved: ResolvedProblem, entry: FleetType) -> dict[int, float]:
    """Returns which part of a GPU each of its sizes is, by the index of the size."""
    whole = resolved.whole_of(entry.gpu.name)
    parts = {} if whole is None else {whole: 1.0}
    if isinstance(entry.gpu, Cpu):
        parts |= {k: (resolved.sizes[k].cores or 0) / entry.gpu.core_count for k in resolved.cores_of(entry.gpu.name)}
    mig = {k: resolved.sizes[k].profile for k in resolved.sizes_of(entry.gpu.name)}
    if mig:
        slices = {profile.name: profile.compute_slices for profile in mig.values()}
        cuts = maximal_multisets(placement_rules(entry.geometry, list(slices)))
        most = max(sum(slices[name] for name in cut) for cut in cuts)
        parts |= {k: profile.compute_slices / most for k, profile in mig.items()}
    return parts


def every_batch(entry: FleetType, points: Sequence[Points], alone_rps: Floats) -> Slots:
    """Returns partitions with all batches that there are."""
    shape = len(points), max((len(batch) for batch, _, _ in points), default=0)
    batch, latency_ms = np.ones(shape, dtype=np.int64), np.full(shape, np.inf)
    for w, (own, own_ms, _) in enumerate(points):
        batch[w, : len(own)], latency_ms[w, : len(own)] = own, own_ms
    return Slots(entry.gpu.name, "", alone_rps, np.full(len(points), -1), batch, latency_ms, np.zeros(shape), inf)
