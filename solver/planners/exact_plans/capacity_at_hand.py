"""
What there is of most capacity without a solver, in a moment: a limit by prices, and plans that are filled up.

A plan serves every service where it is cheapest (priced_at_hand.py), and what its GPUs have beside goes to what counts
most (exact.primal.filled_gpus.py); under MPS nothing is filled up. The limit is that of price_limit.py with nothing
paid for rates that are asked for, so it is that of the GPUs without any.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...allocation.assembly import UNKNOWN_BOUND, assemble
from ...exact.capacity.price_limit import PriceLimit, price_limit
from ...exact.capacity.solo import solo_capacity, weights_of
from ...exact.dual.supply import Supply
from ...exact.fleet.kept_limits import keeps_limits
from ...exact.mig.decoding import cut_gpus
from ...exact.primal.filled_gpus import filled_up
from ...model.plan import Plan
from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.server_sets import is_by_set
from ...performance.resolve import ResolvedProblem
from ..planner import AtHand
from .answers import NAME
from .at_hand import NO_SEARCH
from .priced_at_hand import Priced, gpus_at_hand, priced_at_hand
from .stated_capacity import with_capacity

LIMIT = UNKNOWN_BOUND.model_copy(
    update={
        "method": "none on the cost; of the capacity by prices without a solver (solver/exact/capacity/price_limit.py)"
    }
)


def capacity_at_hand(resolved: ResolvedProblem) -> AtHand:
    """Returns plans and a limit on what any could carry, which they state; every type has a count."""
    return AtHand(LIMIT, partial(_plans, resolved))


def _plans(resolved: ResolvedProblem) -> Iterator[Plan]:
    solo = solo_capacity(resolved)
    if not solo.all():  # no GPU that there is carries some service
        return
    weights = weights_of(resolved.problem.settings.capacity_weights, solo)
    limit = None if resolved.mps or is_by_set(resolved.problem.settings) else _limit(resolved, weights)
    counts = {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}
    priced = priced_at_hand(resolved)
    for gpus in gpus_at_hand(priced, partial(_filled, weights)):
        if not keeps_limits(resolved, gpus):
            continue
        plan = assemble(resolved, gpus, planner=NAME, bound=LIMIT, search=NO_SEARCH)
        if limit is None:
            yield with_capacity(resolved, plan)
        else:
            more = {gpu: limit.at(counts | {gpu: number + 1}) for gpu, number in counts.items()}
            yield with_capacity(resolved, plan, limit=limit.at(counts), one_more=more)


def _limit(resolved: ResolvedProblem, weights: Floats) -> PriceLimit:
    return price_limit(resolved, weights, np.zeros(len(resolved.sizes)), np.zeros(len(weights)))


def _filled(weights: Floats, priced: Priced, supply: Supply, partitions: Ints, times: Ints) -> Sequence[AllocatedGpu]:
    resolved, sizes = priced.resolved, priced.data.sizes
    if not resolved.mps:
        free = np.array([one.max_replicas is None for one in resolved.problem.workloads])
        value = np.where(free[:, None], weights[:, None] * resolved.capacity_rps[:, sizes], 0.0)
        filled, times = filled_up(supply, value, partitions[:, sizes], times)
        partitions = partitions.copy()
        partitions[:, sizes] = filled
    return cut_gpus(resolved, priced.used(times), partitions)
