"""
The MIG cutting stock at any scale: prices, covers at these prices, and the whole program only for the last gap.

1. lagrangian_dual.py finds the prices with the greatest lower bound.
2. whole_gpus/ makes them exact, and whole GPUs and covers of them that cost what they prove, or nearly; with several
   GPU types it proves more, by cuts on how many there are of each.
3. price_and_round.py looks for cheaper plans by programs over covers, and for those that take the fewest slices, where
   there are few workloads.
4. If that costs more than the bound allows, and the problem is small enough, the program of cutting_stock.py searches
   for the rest of the time. Its bound joins the one of the prices.

The bound is valid at any moment (lagrangian_dual.py), so a time limit or an interruption costs quality, never the
proof.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import floor

import numpy as np

from ...model.plan import Start
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..cost_lattice import NO_GAP, cost_lattice
from ..covers.undecided_classes import UndecidedClasses, undecided_classes
from ..dual.lagrangian_data import known_covers, known_prices, lagrangian_data, most_to_pay
from ..dual.lagrangian_dual import best_prices, covers_for_programs
from ..dual.supply import Supply
from ..mig.cutting_stock import CuttingStockAnswer, slices_of, solve_cutting_stock
from ..mps.program import NO_SHARES
from ..primal.price_and_round import best_covers
from ..primal.restricted_master import Choice, ChosenCovers, choose_covers
from ..proof import ended, is_proof, is_within, report_known
from ..whole_gpus.fleet_counts import counted_plan
from ..whole_gpus.mixed_demand import NEAR_ENOUGH, fractional_gpus
from ..whole_gpus.whole_plan import WholePlan, proven_at, rounded_plan, whole_plan
from ..whole_gpus.whole_prices import ProvenCovers

PRICES = (
    "Lagrangian bound at the slice prices (solver/exact/dual/lagrangian_dual.py): no cut of a GPU is worth more than "
    "the GPU, and every workload costs at least its cheapest cover"
)
WHOLE = (
    "dual bound of the MIG cutting stock (solver/exact/mig/cutting_stock.py) by branch and bound: every plan is a "
    "solution of that program, so none costs less than the bound of its relaxations"
)

SOLVER = "slice prices, then HiGHS through MathOpt"

MOST_FOR_WHOLE = 3_000
"""Workloads up to which the whole program is tried for a gap that is left."""

MOST_FOR_SLICES = 500
"""Workloads up to which a second goal looks for fewest slices among the plans of the same cost."""

MOST_FOR_KNOWN_COVERS = 20_000
"""Workloads up to which covers of a known plan are kept where they are as cheap; more take longer to read than help."""

SLICES_S = 1.0
"""Time for fewest slices where the least cost is proven."""

FILL_S = 1.0
"""Time for a program that fills GPUs of given counts."""

FAR = 3
"""GPUs of the cheapest type above the least cost up to which counts of GPUs are looked at one by one."""

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
    start: Start = None,
    any_plan: bool = False,
    on_answer: Callable[[DecomposedAnswer], None] = lambda _: None,
    time_limit_s: float,
) -> DecomposedAnswer:
    """
    Solves the MIG cutting stock; the module says how.

    Parameters
    ----------
    start
        Where it begins.
    any_plan
        Whether any plan that keeps the counts of GPUs will do, whatever it costs.
    on_answer
        Called with the bound as soon as it is proven, and with each plan before the search for a better one.
    """
    search = _Search(resolved, start, any_plan, on_answer, time.monotonic() + time_limit_s)
    if not search.find_prices():
        answer = CuttingStockAnswer(
            StopReason.INFEASIBLE, "slice prices: the bound passes the cost of all GPUs", *NOTHING
        )
        return search.decomposed(answer)
    search.keep_covers()
    search.fill_whole_gpus()
    if search.is_done():
        return search.decomposed(search.answer(limited=False))
    limited = search.run_programs()
    answer = search.answer(limited=limited)
    settled = answer.stopped in (StopReason.PROVED, StopReason.GAP_REACHED) or (any_plan and search.best is not None)
    if settled or len(search.demands.least) > MOST_FOR_WHOLE or search.left_s < 0.1:
        return search.decomposed(answer)
    return search.decomposed(*_with_whole_program(resolved, answer, search.bound, search.left_s))


class _Search:
    """The best plan and bound so far, and what finds better ones. Covers have the sizes that carry something only."""

    def __init__(
        self,
        resolved: ResolvedProblem,
        start: Start,
        any_plan: bool,
        on_answer: Callable[[DecomposedAnswer], None],
        deadline: float,
    ) -> None:
        self._resolved, self._any_plan, self._on_answer, self._deadline = resolved, any_plan, on_answer, deadline
        self._start = start
        data = lagrangian_data(resolved)
        self._patterns, self._sizes, self._supply, self.demands = data.patterns, data.sizes, data.supply, data.demands
        self._steps = cost_lattice(resolved)
        self._small = len(self.demands.least) <= MOST_FOR_SLICES and not any_plan
        self._known = None
        if MOST_FOR_SLICES < len(self.demands.least) <= MOST_FOR_KNOWN_COVERS:  # with fewer, fewest slices count more
            self._known = known_covers(resolved, start, self._sizes)
        self.best: ChosenCovers | None = None
        self.bound = 0.0

    @property
    def left_s(self) -> float:
        """Seconds until the deadline, and a few hundredths after it."""
        return max(self._deadline - time.monotonic(), 0.05)

    def find_prices(self) -> bool:
        """Finds prices, and what they prove; returns whether there may be a plan."""
        most = most_to_pay(self._resolved)
        prices_by = time.monotonic() + PRICES_TIME * (self._deadline - time.monotonic())
        known = known_prices(self._resolved, self._start, self._sizes)
        self._priced = best_prices(self.demands, self._supply, start=known, enough=most, deadline=prices_by)
        self._late = time.monotonic() > prices_by
        self._most_steps = floor(most / self._steps.step) + 1
        if self._priced.bound > most * (1 + 1e-6):
            return False
        self._proven = proven_at(self.demands, self._supply, self._priced, self._steps)
        self.bound = self._steps.next_cost(self._priced.bound)
        if self._proven is not None:
            self.bound = max(self.bound, self._steps.step * self._proven.least_steps)
        report_known(None, self.bound)
        self._on_answer(self.decomposed(self.answer(limited=True)))
        return True

    def keep_covers(self) -> None:
        """Looks whether the covers of a known plan fit whole GPUs, the cheapest where they no longer serve."""
        if self._known is None:
            return
        near = self._near()
        assert near.kept is not None
        choice = self._choose(replace(near, decided=near.kept), most_classes=0, time_limit_s=self.left_s / 2)
        self._take(choice.covers)

    def fill_whole_gpus(self) -> None:
        """Looks for whole GPUs and covers of them that cost what is proven, and proves more with several GPU types."""
        proven = self._proven
        if proven is None or self._is_good_enough():
            return
        steps = proven.least_steps
        if len(np.unique(self._supply.gpu_type)) > 1 and not self._any_plan:
            parts = fractional_gpus(self._supply, proven)
            self._take(self._chosen(rounded_plan(parts.rounded, self._supply, proven)))
            if self._resolved.gap > 0 and self._is_good_enough():
                return
            counted = counted_plan(
                self.demands,
                self._supply,
                self._priced.listed,
                proven,
                below=min(self._most_steps + 1, steps + FAR * int(proven.prices.gpu_cost.min())),
                near=parts.of_type,
                fill=self._filled,
                deadline=self._deadline,
            )
            steps = max(steps, counted.least_steps)
            self.bound = max(self.bound, self._steps.step * steps)
            self._take(counted.plan, as_cheap=True)
            if counted.plan is not None or self._is_good_enough() or time.monotonic() > self._deadline:
                return
        whole = whole_plan(self.demands, self._supply, proven, at_least=steps, deadline=self._deadline)
        self._take(self._chosen(whole))

    def _filled(self, fleet: Supply, proven: ProvenCovers, steps: int) -> ChosenCovers | None:
        """Looks for a plan of just these GPUs; of few workloads, of which sampling is coarse, by a program too."""
        whole = whole_plan(self.demands, fleet, proven, at_least=steps, wider=False, deadline=self._deadline)
        if whole is not None or len(self.demands.least) > MOST_FOR_SLICES:
            return self._chosen(whole)
        price = proven.prices.in_steps
        near = undecided_classes(
            covers_for_programs(self.demands, price).covers, price, alone=np.zeros(0, dtype=np.int64)
        )
        return choose_covers(
            near,
            replace(self._supply, available=fleet.available),
            least_cost=0.0,
            steps=self._steps,
            slices=None,
            time_limit_s=min(FILL_S, self.left_s / 4),
            most_classes=len(near.classes.members),
            any_plan=True,
        ).covers

    def _is_good_enough(self) -> bool:
        """Tells whether the best plan is within the gap that is asked for, or any plan will do."""
        return self.best is not None and (self._any_plan or is_within(self._resolved.gap, self.best.cost, self.bound))

    def is_done(self) -> bool:
        """Tells whether the best plan needs no programs over covers."""
        if self.best is None:
            return False
        near_enough = self.best.cost <= self.bound + NEAR_ENOUGH * float(self._supply.cost.min())
        gap_reached = self._resolved.gap > 0 and self._is_good_enough()
        return self._any_plan or gap_reached or (near_enough and not self._small)

    def run_programs(self) -> bool:
        """Looks for a better plan by programs over covers; returns whether the time limit ended it."""
        is_proven = self.best is not None and is_proof(self.best.cost, self.bound)
        deadline = min(self._deadline, time.monotonic() + SLICES_S) if is_proven else self._deadline
        found = best_covers(
            self._near(),
            self._supply,
            self._choose,
            known=self.best,
            target=np.inf if self._any_plan else self.bound,
            gap=self._resolved.gap,
            fewest_slices=self._small,
            on_better=self._hand_on,
            deadline=deadline,
        )
        self.best = found.covers
        return self._late or found.limited or self.left_s < 0.1

    def answer(self, *, limited: bool) -> CuttingStockAnswer:
        """Returns the best plan so far."""
        return self._answer(self.best, limited=limited)

    def decomposed(self, answer: CuttingStockAnswer, method: str = PRICES) -> DecomposedAnswer:
        """Returns an answer with the prices."""
        price = np.zeros(len(self._resolved.sizes))
        price[self._sizes] = self._priced.price
        return DecomposedAnswer(answer, method, price, self._priced.rent)

    def _near(self) -> UndecidedClasses:
        listed = covers_for_programs(self.demands, self._priced.price).covers
        return undecided_classes(listed, self._priced.price, alone=np.zeros(0, dtype=np.int64), known=self._known)

    def _choose(self, near: UndecidedClasses, *, most_classes: int, time_limit_s: float) -> Choice:
        of_size = [self._resolved.sizes[k] for k in self._sizes]
        return choose_covers(
            near,
            self._supply,
            least_cost=self.bound,
            steps=self._steps,
            slices=np.array([slices_of(self._resolved, size) for size in of_size], float) if self._small else None,
            time_limit_s=time_limit_s,
            most_classes=most_classes,
            any_plan=self._any_plan,
            gap=self._resolved.gap,
        )

    def _chosen(self, plan: WholePlan | None) -> ChosenCovers | None:
        if plan is None:
            return None
        return ChosenCovers(plan.partitions(self._known), plan.cuts, self._steps.step * plan.steps)

    def _take(self, chosen: ChosenCovers | None, *, as_cheap: bool = False) -> None:
        """Keeps a plan if it is the best so far; `as_cheap`: or costs as much as that."""
        enough = 1 + NO_GAP if as_cheap else 1 - NO_GAP
        if chosen is not None and (self.best is None or chosen.cost < self.best.cost * enough):
            self.best = chosen
            self._hand_on(chosen)

    def _hand_on(self, chosen: ChosenCovers) -> None:
        answer = self._answer(chosen, limited=True)
        if answer.stopped != StopReason.PROVED:
            report_known(chosen.cost, self.bound)
            self._on_answer(self.decomposed(answer))

    def _answer(self, chosen: ChosenCovers | None, *, limited: bool) -> CuttingStockAnswer:
        stopped = ended(None if chosen is None else chosen.cost, self.bound, gap=self._resolved.gap, limited=limited)
        if chosen is None:
            return CuttingStockAnswer(stopped, SOLVER, self.bound, None, None, NO_SHARES)
        cuts = zip(self._patterns, chosen.cuts, strict=True)
        used = tuple((pattern, int(times)) for pattern, times in cuts if times)
        partitions = np.zeros(self._resolved.capacity_rps.shape, dtype=np.int64)
        partitions[:, self._sizes] = chosen.partitions
        return CuttingStockAnswer(stopped, SOLVER, self.bound, used, partitions, NO_SHARES)


NOTHING = (None, None, None, NO_SHARES)


def _with_whole_program(
    resolved: ResolvedProblem, answer: CuttingStockAnswer, bound: float, time_limit_s: float
) -> tuple[CuttingStockAnswer, str]:
    """Spends the rest of the time on the whole program; returns the better plan and bound, and the bound's method."""
    whole = solve_cutting_stock(
        resolved, time_limit_s=time_limit_s, known_bound=bound, known_plan=answer, gap=resolved.gap
    )
    known = cost_of(resolved, answer)
    if whole.stopped == StopReason.INFEASIBLE and known is None:
        return whole, WHOLE
    method, proven = PRICES, bound
    if whole.cost_bound is not None and whole.cost_bound > bound * (1 + NO_GAP):
        method, proven = WHOLE, whole.cost_bound
    cost = cost_of(resolved, whole)
    if cost is not None and (known is None or cost < known * (1 - NO_GAP)):
        answer = whole
    else:
        cost = known
    stopped = ended(cost, proven, gap=resolved.gap, limited=whole.stopped == StopReason.TIME_LIMIT)
    return CuttingStockAnswer(stopped, whole.solver, proven, answer.patterns, answer.partitions, NO_SHARES), method


def cost_of(resolved: ResolvedProblem, answer: CuttingStockAnswer) -> float | None:
    """Returns the cost per hour of an answer's plan, USD; None: it has none."""
    if answer.patterns is None:
        return None
    return sum(resolved.fleet_by_name[pattern.gpu].price_per_hour * times for pattern, times in answer.patterns)
