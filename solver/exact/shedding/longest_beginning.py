"""
The services to serve where the GPUs are too few: a longest beginning of an order that a plan is found for.

The order is by value for what a service's cheapest cover is worth (first_choice.py). Whether a beginning has a plan is
asked of the exact planner, which may take other covers than the cheapest; on 3,000 services and two GPU types it serves
2,992 where cheapest covers alone serve 2,921. The proven bound is near, so lengths are tried down from there, in
growing steps, and then by bisection. Each answer is a plan, so a choice is right however the search ends.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...performance.interference.prediction import Ints
from ...performance.resolve import ResolvedProblem
from ..fleet.decomposition import solve_by_prices
from ..fleet.spare_fleet import solve_with_spares
from ..mig.cutting_stock import CuttingStockAnswer
from ..mig.spare_rules import SpareRules

ANY_GAP = 1.0
"""Part of its bound by which a plan may be dear: that there is one is all that is asked."""


def longer_beginnings(
    resolved: ResolvedProblem, order: Ints, rules: SpareRules | None, *, fits: int, most: float, time_limit_s: float
) -> Iterator[tuple[list[int], CuttingStockAnswer]]:
    """
    Yields ever longer beginnings of an order that have a plan by MIG and whole GPUs, and the plan.

    Parameters
    ----------
    order
        Workloads by number, those first that are to be served first.
    fits
        Length of a beginning that is known to have a plan.
    most
        Proven: no workloads that have a plan are worth more together.
    """
    deadline = time.monotonic() + time_limit_s
    any_plan = replace(resolved, gap=ANY_GAP)
    too_many = _worth_more(resolved, order, most)
    step, found = 1, False
    while too_many - fits > 1 and (left := deadline - time.monotonic()) > 0:
        tried = (fits + too_many) // 2 if found else max(too_many - step, fits + 1)
        chosen: list[int] = sorted(order[:tried].tolist())
        answer = _planned(any_plan.restricted_to(chosen), rules, left / 2)
        if answer.patterns is None:
            too_many, step = tried, 2 * step
        else:
            fits, found = tried, True
            yield chosen, answer


def _worth_more(resolved: ResolvedProblem, order: Sequence[int] | Ints, most: float) -> int:
    """Returns the length of the shortest beginning that is worth more than `most`, or one more than all."""
    value = 0.0
    for length, w in enumerate(order, start=1):
        value += resolved.problem.workloads[w].worth
        if value > most:
            return length
    return len(order) + 1


def _planned(part: ResolvedProblem, rules: SpareRules | None, time_limit_s: float) -> CuttingStockAnswer:
    if rules is None:
        return solve_by_prices(part, time_limit_s=time_limit_s).answer
    return solve_with_spares(part, rules, any_plan=True, time_limit_s=time_limit_s).answer
