"""
The MIG cutting stock with partitions kept free: prices for a bound, a plan that is built, then the whole program.

1. A plan that keeps partitions free is a plan, so the bound of lagrangian_dual.py holds for it, and where no plan fits
   the fleet, none with free partitions does.
2. spare_plans.py builds a plan around that one.
3. The program of cutting_stock.py with the constraints of spare_capacity.py searches for the rest of the time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...model.plan import Start
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...runtime.progress import report
from ..mig.cutting_stock import CuttingStockAnswer, solve_cutting_stock
from ..mig.spare_rules import SpareRules
from ..proof import ended
from .decomposition import PRICES, DecomposedAnswer, solve_by_prices
from .spare_covers import cheapest_partitions
from .spare_plans import built_with_spares

WITH_SPARES = (
    "dual bound of the MIG cutting stock with partitions that are kept free (solver/exact/mig/spare_capacity.py) by "
    "branch and bound: every plan that keeps them, for further partitions settled beforehand, is a solution of that "
    "program"
)
WITHOUT_SPARES = f"{PRICES}; what is kept free costs no less than nothing"

FOR_PRICES, FOR_BUILDING = 0.3, 0.3
"""Parts of the time for the bound and the plan without free partitions, and of what is left then, for a plan with."""


@dataclass(frozen=True, eq=False)
class SpareAnswer:
    """The plan, if there is one, and which bound holds."""

    answer: CuttingStockAnswer
    method: str


def solve_with_spares(
    resolved: ResolvedProblem,
    rules: SpareRules,
    *,
    start: Start = None,
    any_plan: bool = False,
    on_answer: Callable[[SpareAnswer], None] = lambda _: None,
    time_limit_s: float,
) -> SpareAnswer:
    """
    Solves the cutting stock with free partitions; the module says how.

    Parameters
    ----------
    start
        Where the search without free partitions begins.
    any_plan
        Whether any plan that keeps the counts of GPUs will do, whatever it costs.
    on_answer
        Called with the bound as soon as it is proven, and with the plan that is built.
    """
    deadline = time.monotonic() + time_limit_s
    prices_s = FOR_PRICES * time_limit_s
    without = solve_by_prices(resolved, start=start, any_plan=any_plan, time_limit_s=prices_s)
    if without.answer.stopped == StopReason.INFEASIBLE:
        return SpareAnswer(without.answer, without.method)
    best = SpareAnswer(
        replace(without.answer, stopped=StopReason.TIME_LIMIT, patterns=None, partitions=None), WITHOUT_SPARES
    )
    on_answer(best)
    built = _built(resolved, rules, without, FOR_BUILDING * (deadline - time.monotonic()))
    if built is not None:
        best = replace(best, answer=replace(built, cost_bound=best.answer.cost_bound))
        report(f"exact: a plan of ${_cost(resolved, built):,.2f}/h with its free partitions")
        if any_plan:
            return best
        end = ended(_cost(resolved, built), best.answer.cost_bound, gap=resolved.gap, limited=True)
        if end in (StopReason.PROVED, StopReason.GAP_REACHED):
            return replace(best, answer=replace(best.answer, stopped=end))
        on_answer(best)
    found = solve_cutting_stock(
        resolved,
        spare=rules,
        known_bound=best.answer.cost_bound,
        known_plan=built,
        fewest_slices=not any_plan,
        gap=resolved.gap,
        time_limit_s=deadline - time.monotonic(),
    )
    return _better(resolved, best, found)


def _built(
    resolved: ResolvedProblem, rules: SpareRules, without: DecomposedAnswer, time_limit_s: float
) -> CuttingStockAnswer | None:
    """Returns the plan that is built around the one without free partitions, or around the cheapest covers."""
    covers = without.answer.partitions
    if covers is None:
        covers = cheapest_partitions(resolved, without.price)
    return built_with_spares(resolved, rules, covers, without.price, time_limit_s=time_limit_s)


def _better(resolved: ResolvedProblem, best: SpareAnswer, found: CuttingStockAnswer) -> SpareAnswer:
    """Returns the cheaper plan with the greater bound."""
    if found.stopped == StopReason.INFEASIBLE:
        # A plan that is there outweighs what a solver says within its tolerances.
        return best if best.answer.patterns is not None else SpareAnswer(found, WITH_SPARES)
    bounds = [(best.answer.cost_bound, best.method), (found.cost_bound, WITH_SPARES)]
    bound, method = max(bounds, key=lambda known: known[0] or 0.0)
    plans = [answer for answer in (found, best.answer) if answer.patterns is not None]
    if not plans:
        return SpareAnswer(replace(found, cost_bound=bound), method)
    plan = min(plans, key=lambda answer: _cost(resolved, answer))
    stopped = ended(_cost(resolved, plan), bound, gap=resolved.gap, limited=found.stopped == StopReason.TIME_LIMIT)
    return SpareAnswer(replace(plan, stopped=stopped, solver=found.solver, cost_bound=bound), method)


def _cost(resolved: ResolvedProblem, answer: CuttingStockAnswer) -> float:
    used = answer.patterns or ()
    return sum(resolved.fleet_by_name[pattern.gpu].price_per_hour * times for pattern, times in used)
