"""
Most requests/s that given GPUs could carry, where what a service's partitions carry is no sum.

The plan is that of weighted turns, which holds with better routers too; together its partitions carry that or more.
The limit is that of the looser problem at any rate (performance/loosest.py): what partitions are promised together, in
their set's formula or in turns, is no more than the greatest load, or that of the exact chain, of each.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ...exact.capacity.answer import MostCapacity
from ...exact.proof import Ended
from ...model.stop_reason import StopReason
from ...performance.loosest import loosest_at_any_rate
from ...performance.resolve import ResolvedProblem
from ...performance.unservable import unservable_by_sums

FOR_TURNS = 0.5
"""Part of the time for the plan."""

LEAST_S = 0.05
"""For the limit."""


class Find(Protocol):
    """Looks for most capacity where what partitions carry is a sum; arguments as for `most_capacity`."""

    def __call__(
        self, resolved: ResolvedProblem, *, on_answer: Callable[[MostCapacity], None], time_limit_s: float
    ) -> MostCapacity: ...


def most_capacity_of_sets(
    find: Find, resolved: ResolvedProblem, *, on_answer: Callable[[MostCapacity], None], time_limit_s: float
) -> MostCapacity:
    """Returns the plan in turns with the limit of the looser problem; the arguments are `most_capacity`'s."""
    deadline = time.monotonic() + time_limit_s
    plan = None
    if not unservable_by_sums(resolved):
        turns_s = FOR_TURNS * time_limit_s
        plan = find(resolved, on_answer=lambda found: on_answer(_with_limit(found, None)), time_limit_s=turns_s)
    known = plan is not None and plan.value is not None

    def of_both(proven: MostCapacity) -> MostCapacity:
        if plan is not None and known:
            return _with_limit(plan, proven)
        nothing = replace(proven, value=None, patterns=(), partitions=None, spares=None, one_by_one=())
        return replace(nothing, stopped=StopReason.TIME_LIMIT)

    loose = loosest_at_any_rate(resolved)
    left_s = max(deadline - time.monotonic(), LEAST_S)
    proven = find(loose, on_answer=lambda found: on_answer(of_both(found)), time_limit_s=left_s)
    if not known and proven.stopped is StopReason.INFEASIBLE:
        return proven
    return of_both(proven)


def _with_limit(plan: MostCapacity, proven: MostCapacity | None) -> MostCapacity:
    """Returns a plan with the limit of the looser problem; None: it is not known yet."""
    if proven is None:
        return replace(plan, limit=None, one_more={}, stopped=StopReason.TIME_LIMIT)
    limited = StopReason.TIME_LIMIT in (plan.stopped, proven.stopped)
    stopped: Ended = StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT
    return replace(plan, stopped=stopped, limit=proven.limit, one_more=proven.one_more)
