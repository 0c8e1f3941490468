"""
The MIG cutting stock at any scale: prices, covers at these prices, and the whole program only for the last gap.

1. slice_prices.py finds the prices with the greatest lower bound.
2. whole_gpus/ makes them exact, and whole GPUs and covers of them that cost what they prove, or nearly.
3. best_covers.py looks for cheaper plans by programs over covers, and for those that take the fewest slices, where
   there are few workloads.
4. If that costs more than the bound allows, and the problem is small enough, the program of cutting_stock.py searches
   for the rest of the time. Its bound joins the one of the prices.

The bound is valid at any moment (slice_prices.py), so a time limit or an interruption costs quality, never the proof.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..performance.interference.prediction import Floats
from ..performance.resolve import ResolvedProblem
from ..progress import report
from .best_covers import best_covers
from .choosing_covers import ChosenCovers, choose_covers
from .cost_steps import NO_GAP, cost_steps
from .cutting_stock import CuttingStockAnswer, Pattern, patterns_of, slices_of, solve_cutting_stock
from .near_covers import near_covers
from .proof import ended
from .shared_program import NO_SHARES
from .slice_prices import best_prices
from .supply_and_demand import demands_of, known_covers, known_prices, most_to_pay, supply_of
from .whole_gpus.mixed_demand import NEAR_ENOUGH
from .whole_gpus.whole_plan import proven_at, whole_plan

PRICES = (
    "Lagrangian bound at the slice prices (solver/exact/slice_prices.py): no cut of a GPU is worth more than the GPU, "
    "and every workload costs at least its cheapest cover"
)
WHOLE = (
    "dual bound of the MIG cutting stock (solver/exact/cutting_stock.py) by branch and bound: every plan is a "
    "solution of that program, so none costs less than the bound of its relaxations"
)

SOLVER = "slice prices, then HiGHS through MathOpt"

MOST_FOR_WHOLE = 3_000
"""Workloads up to which the whole program is tried for a gap that is left."""

MOST_FOR_SLICES = 500
"""Workloads up to which a second goal looks for fewest slices among the plans of the same cost."""

MOST_FOR_KNOWN_COVERS = 20_000
"""Workloads up to which covers of a known plan are kept where they are as cheap; more take longer to read than help."""

PRICES_TIME = 0.6
"""Part of the time that finding prices may take."""


@dataclass(frozen=True, eq=False)
class DecomposedAnswer:
    """The plan, which bound proves it, and the prices."""

    answer: CuttingStockAnswer
    method: str
    price: Floats
    """Shape (size,): USD per hour."""
    rent: Floats
    """Shape (fleet entry,): USD per hour."""


def solve_by_prices(
    resolved: ResolvedProblem,
    *,
    any_plan: bool = False,
    on_answer: Callable[[DecomposedAnswer], None] = lambda _: None,
    time_limit_s: float,
) -> DecomposedAnswer:
    """
    Solves the MIG cutting stock; the module says how. Starts from the problem's known prices, if it has some.

    Parameters
    ----------
    any_plan
        Whether any plan that keeps the counts of GPUs will do, whatever it costs.
    on_answer
        Called with the bound as soon as it is proven, and with each plan before the search for a better one.
    """
    deadline = time.monotonic() + time_limit_s
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    supply, demands = supply_of(resolved, patterns, sizes), demands_of(resolved, sizes)
    most = most_to_pay(resolved)
    prices_by = time.monotonic() + PRICES_TIME * time_limit_s
    priced = best_prices(demands, supply, start=known_prices(resolved, sizes), enough=most, deadline=prices_by)
    late = time.monotonic() > prices_by
    price = np.zeros(len(resolved.sizes))
    price[sizes] = priced.price
    if priced.bound > most * (1 + 1e-6):
        answer = CuttingStockAnswer("infeasible", "slice prices: the bound passes the cost of all GPUs", *NOTHING)
        return DecomposedAnswer(answer, PRICES, price, priced.rent)
    steps = cost_steps(resolved)
    proven = proven_at(demands, supply, priced, steps)
    bound = steps.next_cost(priced.bound)
    if proven is not None:
        bound = max(bound, steps.step * proven.least_steps)
    report(f"exact: no plan costs less than ${bound:,.2f}/h")
    answered = partial(_answer, patterns, bound=bound, gap=resolved.gap)
    on_answer(DecomposedAnswer(answered(None, limited=True), PRICES, price, priced.rent))
    small = len(demands.least) <= MOST_FOR_SLICES and not any_plan
    keeps = MOST_FOR_SLICES < len(demands.least) <= MOST_FOR_KNOWN_COVERS  # with fewer, fewest slices count more
    known = known_covers(resolved, sizes) if keeps else None

    def of_all_sizes(chosen: ChosenCovers) -> ChosenCovers:
        partitions = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
        partitions[:, sizes] = chosen.partitions
        return replace(chosen, partitions=partitions)

    def better(chosen: ChosenCovers) -> None:
        answer = answered(of_all_sizes(chosen), limited=True)
        if answer.stopped != "proved":
            report(f"exact: a plan of ${chosen.cost:,.2f}/h, none costs less than ${bound:,.2f}/h")
            on_answer(DecomposedAnswer(answer, PRICES, price, priced.rent))

    first = None
    # A known plan is kept where that is as cheap, which the programs of best_covers look at first.
    if known is None and proven is not None and (whole := whole_plan(supply, proven, deadline=deadline)) is not None:
        first = ChosenCovers(whole.partitions(None), whole.cuts, steps.step * whole.steps)
        better(first)
    near_enough = first is not None and first.cost <= bound + NEAR_ENOUGH * float(supply.cost.min())
    if first is not None and (any_plan or (near_enough and not small)):
        answer = answered(of_all_sizes(first), limited=False)
        return DecomposedAnswer(answer, PRICES, price, priced.rent)
    near = near_covers(priced.covers, priced.price, alone=np.zeros(0, dtype=np.int64), known=known)
    choose = partial(
        choose_covers,
        supply=supply,
        least_cost=bound,
        steps=steps,
        any_plan=any_plan,
        gap=resolved.gap,
        slices=np.array([slices_of(resolved, resolved.sizes[k]) for k in sizes], float) if small else None,
    )
    found = best_covers(
        near,
        supply,
        choose,
        known=first,
        target=np.inf if any_plan else bound,
        gap=resolved.gap,
        fewest_slices=small,
        on_better=better,
        deadline=deadline,
    )
    chosen = None if found.covers is None else of_all_sizes(found.covers)
    left = _left(deadline)
    answer = answered(chosen, limited=late or found.limited or left < 0.1)
    settled = answer.stopped in ("proved", "gap_reached") or (any_plan and chosen is not None)
    if settled or len(demands.least) > MOST_FOR_WHOLE or left < 0.1:
        return DecomposedAnswer(answer, PRICES, price, priced.rent)
    return DecomposedAnswer(*_with_whole_program(resolved, answer, chosen, bound, left), price, priced.rent)


NOTHING = (None, None, None, NO_SHARES)


def _with_whole_program(
    resolved: ResolvedProblem,
    answer: CuttingStockAnswer,
    chosen: ChosenCovers | None,
    bound: float,
    time_limit_s: float,
) -> tuple[CuttingStockAnswer, str]:
    """Spends the rest of the time on the whole program; returns the better plan and bound, and the bound's method."""
    whole = solve_cutting_stock(
        resolved, time_limit_s=time_limit_s, known_bound=bound, known_plan=answer, gap=resolved.gap
    )
    if whole.stopped == "infeasible" and chosen is None:
        return whole, WHOLE
    method, proven = PRICES, bound
    if whole.cost_bound is not None and whole.cost_bound > bound * (1 + NO_GAP):
        method, proven = WHOLE, whole.cost_bound
    cost = _cost(resolved, whole)
    if cost is not None and (chosen is None or cost < chosen.cost * (1 - NO_GAP)):
        answer = whole
    else:
        cost = chosen.cost if chosen is not None else None
    stopped = ended(cost, proven, gap=resolved.gap, limited=whole.stopped == "time_limit")
    return CuttingStockAnswer(stopped, whole.solver, proven, answer.patterns, answer.partitions, NO_SHARES), method


def _answer(
    patterns: list[Pattern], chosen: ChosenCovers | None, *, bound: float, gap: float, limited: bool
) -> CuttingStockAnswer:
    stopped = ended(None if chosen is None else chosen.cost, bound, gap=gap, limited=limited)
    if chosen is None:
        return CuttingStockAnswer(stopped, SOLVER, bound, None, None, NO_SHARES)
    used = tuple((pattern, int(times)) for pattern, times in zip(patterns, chosen.cuts, strict=True) if times)
    return CuttingStockAnswer(stopped, SOLVER, bound, used, chosen.partitions, NO_SHARES)


def _cost(resolved: ResolvedProblem, answer: CuttingStockAnswer) -> float | None:
    if answer.patterns is None:
        return None
    return sum(resolved.fleet_by_name[pattern.gpu].price_per_hour * times for pattern, times in answer.patterns)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.05)
