"""
Most requests/s that given GPUs could carry, where what a service's partitions carry is no sum.

The plan is that of weighted turns, which holds with better routers too; together its partitions carry that or more.
The limit is that of the looser problem at any rate (performance/loosest.py): what partitions are promised together, in
their set's formula or in turns, is no more than the greatest load, or that of the exact chain, of each.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from ...exact.capacity.answer import MostCapacity, most_capacity
from ...exact.proof import Ended
from ...model.stop_reason import StopReason
from ...performance.loosest import loosest_at_any_rate
from ...performance.resolve import ResolvedProblem
from ...performance.unservable import unservable_by_sums

FOR_TURNS = 0.5
"""Part of the time for the plan."""


def most_capacity_of_sets(
    resolved: ResolvedProblem, *, on_answer: Callable[[MostCapacity], None], time_limit_s: float
) -> MostCapacity:
    """Returns the plan in turns with the limit of the looser problem; arguments as for `most_capacity`."""
    deadline = time.monotonic() + time_limit_s

    def without_limit(found: MostCapacity) -> MostCapacity:
        return replace(found, limit=None, one_more={}, stopped=StopReason.TIME_LIMIT)

    plan = None
    if not unservable_by_sums(resolved):
        turns_s = FOR_TURNS * time_limit_s
        plan = most_capacity(resolved, on_answer=lambda found: on_answer(without_limit(found)), time_limit_s=turns_s)
    loose = loosest_at_any_rate(resolved)
    proven = most_capacity(loose, on_answer=lambda _: None, time_limit_s=max(deadline - time.monotonic(), 0.05))
    if plan is None or plan.value is None:
        if proven.stopped is StopReason.INFEASIBLE:
            return proven
        return replace(without_limit(proven), value=None, patterns=(), partitions=None, limit=proven.limit)
    limited = StopReason.TIME_LIMIT in (plan.stopped, proven.stopped)
    stopped: Ended = StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT
    return replace(plan, stopped=stopped, limit=proven.limit, one_more=proven.one_more)
