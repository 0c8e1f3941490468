"""
The plan that could carry most on MIG and whole GPUs, and what is proven: the steps of this room, one after the other.

First the linear program (relaxation.py) and what its prices prove (price_limit.py), then a plan by these prices
(first_plan.py) and a sharper limit for it (cover_limit.py), then the whole program (most_requests.py). The limit is the
least that any of them proves.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ...allocation.allocated import AllocatedGpu
from ...model.objective import CAPACITY
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..mig.patterns import Pattern
from ..mig.spare_rules import KeptFree
from ..proof import Ended
from .cover_limit import cover_limit
from .first_plan import first_plan
from .most_requests import MostRequests, most_requests
from .price_limit import PriceLimit, price_limit
from .relaxation import relaxation
from .solo import solo_capacity, weights_of

NO_GAP = 5e-9
"""Part by which a plan and a limit may differ and be the same: the solver ends at 1e-9, and its limit is rounded up."""

LONGEST_S = 5.0
"""For the prices of a limit; beyond it they hardly improve."""

METHOD = (
    "most weighted requests/s of the cutting stock on the GPUs that there are: the least of HiGHS's dual bound and of "
    "prices with which no cut of a GPU is worth more than it adds (solver/exact/capacity)"
)


@dataclass(frozen=True, eq=False)
class MostCapacity:
    """The plan that could carry most, so far, and what is proven of all plans; weighted requests/s."""

    stopped: Ended
    solver: str
    value: float | None
    """None: no plan was found."""
    limit: float | None
    """No plan has more; None: nothing was proven."""
    patterns: tuple[tuple[Pattern, int], ...] = ()
    """How many GPUs are cut in each way."""
    partitions: Ints | None = None
    """Shape (workload, size): partitions of each size for each workload; None: no plan was found."""
    spares: KeptFree | None = None
    """Partitions that are kept free; None: none are."""
    one_more: Mapping[str, float] = field(default_factory=dict)
    """GPU type -> limit with one more GPU of it; empty: nothing was proven."""
    one_by_one: tuple[AllocatedGpu, ...] = ()
    """GPUs of fleets with MPS."""


NOTHING = MostRequests(StopReason.TIME_LIMIT, "HiGHS through MathOpt: no solution found", None)


def most_capacity(
    resolved: ResolvedProblem, *, on_answer: Callable[[MostCapacity], None], time_limit_s: float
) -> MostCapacity:
    """
    Returns the plan that could carry most on the GPUs that there are; every GPU type has a count.

    Parameters
    ----------
    on_answer
        Called with the plan so far, before the whole program is searched.
    """
    started = time.monotonic()
    solo = solo_capacity(resolved)
    if not solo.all():  # some service has a rate, and no GPU that there is carries any of it
        return MostCapacity(StopReason.INFEASIBLE, "none was needed: some service fits on no GPU", None, None)
    each = weights_of(resolved.problem.settings.capacity_weights, solo)

    def left() -> float:
        return time_limit_s - (time.monotonic() - started)

    relaxed = relaxation(resolved, each)
    prices = None if relaxed is None else price_limit(resolved, each, relaxed.price, relaxed.rate_price)
    # It keeps nothing free.
    keeps = resolved.problem.settings.keeps_spares
    first = None if relaxed is None or keeps else first_plan(resolved, each, relaxed, time_limit_s=left())
    if relaxed is not None and first is not None:
        value = first.capacity(resolved, each) or 0.0
        sharper = cover_limit(resolved, each, relaxed, value, time_limit_s=min(left() / 2, LONGEST_S))
        counts = _counts(resolved)
        prices = sharper if prices is None else min(prices, sharper, key=lambda one: one.at(counts))
    on_answer(_answer(resolved, each, first or NOTHING, prices))
    found = most_requests(resolved, each, known=first, time_limit_s=left(), gap=resolved.gap)
    if found.partitions is None and first is not None and found.stopped is not StopReason.INFEASIBLE:
        found = replace(first, limit=found.limit)
    return _answer(resolved, each, found, prices)


def _answer(resolved: ResolvedProblem, each: Floats, found: MostRequests, prices: PriceLimit | None) -> MostCapacity:
    if found.stopped is StopReason.INFEASIBLE:
        return MostCapacity(StopReason.INFEASIBLE, found.solver, None, None)
    counts = _counts(resolved)
    proven = [] if prices is None else [prices.at(counts)]
    limit = CAPACITY.strongest([*proven, *([] if found.limit is None else [found.limit])])
    more = {} if prices is None else {gpu: prices.at(counts | {gpu: number + 1}) for gpu, number in counts.items()}
    return concluded(resolved, replace(found, limit=limit), found.capacity(resolved, each), more)


def concluded(
    resolved: ResolvedProblem,
    found: MostRequests,
    value: float | None,
    one_more: Mapping[str, float],
    one_by_one: tuple[AllocatedGpu, ...] = (),
) -> MostCapacity:
    """Returns what value and limit say together; `found`: how the search ended, its limit and the cut GPUs."""
    ended: Ended = StopReason.TIME_LIMIT if found.stopped is StopReason.TIME_LIMIT else StopReason.GAP_LEFT
    limit = found.limit
    if CAPACITY.is_within(0.0, value, limit, NO_GAP):
        limit, ended = value, StopReason.PROVED
    elif resolved.gap > 0 and CAPACITY.is_within(resolved.gap, value, limit, NO_GAP):
        ended = StopReason.GAP_REACHED
    return MostCapacity(
        ended,
        found.solver,
        value,
        limit,
        found.patterns,
        found.partitions,
        found.spares,
        one_more,
        one_by_one,
    )


def _counts(resolved: ResolvedProblem) -> dict[str, int]:
    return {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}
