"""
Most capacity on counted GPUs under MPS: a plan by generated contents, and the least limit that prices proved.

The first plan is one of least cost (exact/fleet). What carries most stands apart from it on the GPUs that it leaves
(apart.py): most of what can be gained, and therefore first; then its contents are grown (grown.py). What a content
could be worth is asked at prices (content_limit.py), which is a limit and gives further contents, until time is over;
whole numbers of all contents make the last plan. The first prices are those of units if nobody slowed a neighbour
(alone.py), then those of parts of contents (cell_prices.py); further ones lie a part of the way from those at which the
contents so far are worth least to those of the linear program over them (program.py), which of few contents are wild.
Where both are worth the same, and at the end, the question is asked longer.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...model.objective import CAPACITY
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..capacity.answer import NO_GAP, MostCapacity, concluded
from ..capacity.most_requests import MostRequests
from ..capacity.solo import solo_capacity, weights_of
from ..fleet.fleet_by_prices import Place
from ..fleet.mixed_fleet import solve_mixed_fleet
from .alone import prices_of_units
from .apart import Cheap, set_apart
from .cell_prices import prices_in_cells
from .content_limit import PricedCell, content_limit
from .figures import Content, Figures
from .grown import grown, more_of_all
from .known import KnownContents
from .least_cost_prices import prices_of_least_cost
from .prices import MasterPrices, limit_at
from .program import best_mix, master_prices, meets, value_of

FIRST = 0.2
"""Part of the time for a plan that serves the rates."""

ASKING = 0.12
"""
Part of the time for each of the first two questions: what no time would be left for is worth more than what a longer
question proves, and it is asked again at the end.
"""

WHOLE_FROM_S = 0.3
"""
Seconds for each workload from which on prices of least cost are better than those of parts of contents, which are
worse prices, but those at which cells are worth least: what is worth less only in many small cells takes longer.
"""

AT_LEAST_COST = 0.1
"""Part of the time for prices of least cost."""

IN_CELLS = 0.25
"""Part of the time for prices of parts of contents."""

APART = 0.55
"""Part of the time for what stands apart."""

MIXING = 0.1
"""Part of what is then left for whole numbers of contents."""

GUESSING = 0.25
"""Part of the time for prices that goes for looking for them before what they prove is asked, again and again."""

ROUNDS = 100_000
"""Questions at most; mostly time ends them before."""

CELLS, GAP = 60, 2e-3
"""Of one question for a content, at most and at least."""

MOST_CELLS, LEAST_GAP = 12_000, 5e-4
"""The same for the last one."""

GROWN = 6
"""Contents of one question that are let carry more."""

PART = 0.3
"""Of the way from the best prices so far to those of the program; more where that gave no content."""

ENOUGH = 1e-4
"""Part of the limit by which prices may be worse than the best ones of the known contents."""

ANY = 1.0
"""Gap with which a plan of least cost is enough to begin with."""

LEAST_S = 0.1
KEPT = 40
"""Contents of one question that are kept, the most valuable ones."""

SOLVER = "contents by prices, HiGHS through MathOpt"

METHOD = (
    "most weighted requests/s of any contents of GPUs under MPS at prices of rates and replicas: cells of residents "
    "and of what they ask for together (solver/exact/shared_capacity)"
)


def most_capacity_shared(
    resolved: ResolvedProblem,
    place: Place,
    known: Iterable[Sequence[AllocatedGpu]],
    *,
    on_answer: Callable[[MostCapacity], None],
    time_limit_s: float,
) -> MostCapacity:
    """
    Returns the plan that could carry most on the GPUs under MPS that there are; every GPU type has a count.

    Parameters
    ----------
    place, known
        As for `solve_mixed_fleet`, which finds the plan to begin with.
    on_answer
        Called with each plan and limit so far.
    """
    deadline = time.monotonic() + time_limit_s
    solo = solo_capacity(resolved)
    if not solo.all():
        return MostCapacity(StopReason.INFEASIBLE, "none was needed: some service fits on no GPU", None, None)
    search = _Search(resolved, weights_of(resolved.problem.settings.capacity_weights, solo), deadline)
    cheap = solve_mixed_fleet(replace(resolved, gap=ANY), place, known, time_limit_s=FIRST * time_limit_s)
    if cheap.stopped is StopReason.INFEASIBLE:
        return MostCapacity(StopReason.INFEASIBLE, cheap.solver, None, None)
    plan = [one for one in cheap.gpus or () if isinstance(one, MpsGpu)]
    search.begin(plan, ASKING * time_limit_s)
    on_answer(search.answer(limited=True))
    apart_end = min(time.monotonic() + APART * time_limit_s, deadline)
    search.set_apart(partial(_of_least_cost, place, apart_end), apart_end)
    on_answer(search.answer(limited=True))
    search.carry_more()
    on_answer(search.answer(limited=True))
    is_long = time_limit_s >= WHOLE_FROM_S * len(solo)
    if not (is_long and search.price_at_least_cost(time.monotonic() + AT_LEAST_COST * time_limit_s)):
        search.price_in_cells(time.monotonic() + IN_CELLS * time_limit_s, ASKING * time_limit_s)
    on_answer(search.answer(limited=True))
    pricing_end = deadline - MIXING * max(deadline - time.monotonic(), 0.0)
    learnt = True
    while learnt and time.monotonic() < pricing_end and not search.is_done:
        rounds_end = time.monotonic() + GUESSING * (pricing_end - time.monotonic())
        for _ in range(ROUNDS):
            if time.monotonic() >= rounds_end or search.is_done or not search.price(pricing_end):
                break
            on_answer(search.answer(limited=True))
        learnt = search.sharpen(pricing_end)
        on_answer(search.answer(limited=True))
    search.mix()
    on_answer(search.answer(limited=True))
    search.carry_more()
    return search.answer(limited=time.monotonic() >= deadline)


def _of_least_cost(place: Place, end: float, others: ResolvedProblem, part: float) -> list[MpsGpu] | None:
    """Returns the GPUs of a plan of least cost, found in a part of the time until `end`; None: none was found."""
    left_s = end - time.monotonic()
    found = solve_mixed_fleet(others, place, time_limit_s=part * left_s) if left_s > 0 else None
    if found is None or found.gpus is None:
        return None
    return [one for one in found.gpus if isinstance(one, MpsGpu)]


class _Search:
    """Contents, the best plan of them, and the least limit, as they are found."""

    def __init__(self, resolved: ResolvedProblem, weights: Floats, deadline: float) -> None:
        self._resolved, self._weights, self._deadline = resolved, weights, deadline
        self._figures = [Figures.of(resolved, mps) for mps in resolved.mps.values()]
        self._counts = {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}
        self._known = KnownContents(weights)
        self._served: list[Content] = []
        """The plan of least cost."""
        self._plan: list[Content] = []
        self._cells: Mapping[str, tuple[PricedCell, ...]] = {}
        self._centre = prices_of_units(self._figures, weights, resolved.required_rps, self._counts)
        """The prices at which the limit would be least if the known contents were all."""
        self._prices = self._centre
        self._worth: dict[str, float] = {}
        self._limit = inf
        self._part = PART

    def begin(self, gpus: Sequence[MpsGpu], asking_s: float) -> None:
        """Takes a plan that serves the rates, and asks what a content is worth."""
        by_gpu = {one.mps.gpu: one for one in self._figures}
        plan = [content for one in gpus if (content := by_gpu[one.gpu].content(one.residents)) is not None]
        self._ask(self._centre, time.monotonic() + asking_s)
        if not plan or not meets(self._resolved, plan):
            return
        self._known.add(plan)
        self._served = plan
        self._keep(plan)

    def price_at_least_cost(self, end: float) -> bool:
        """Takes prices of least cost, which are looked for until `end`; False: there are none."""
        if len(self._figures) != 1 or not self._served:
            return False
        plan = [one.gpu for one in self._served]
        found = prices_of_least_cost(self._resolved, self._figures[0], self._weights, plan, deadline=end)
        if not found:
            return False
        self._centre = min([self._centre, *found], key=self._likely)
        return True

    def price_in_cells(self, end: float, asking_s: float) -> None:
        """Takes the prices of parts of contents, which are looked for until `end`, and asks at these."""
        if self.is_done:
            return
        found = prices_in_cells(self._resolved, self._figures, self._weights, self._counts, self._centre, deadline=end)
        self._cells, limit = found.cells, self._limit
        self._ask(found.prices, time.monotonic() + asking_s)
        if self._limit < limit:
            self._centre = found.prices

    def set_apart(self, cheap: Cheap, end: float) -> None:
        """Lets services that carry much stand on GPUs of their own."""
        if self._plan and not self.is_done:
            plan = set_apart(
                self._resolved, self._figures, self._weights, self._centre, self._served, cheap, deadline=end
            )
            self._known.add(plan)
            self._keep(plan)

    def carry_more(self) -> None:
        """Lets the GPUs of the best plan carry more."""
        if self._plan and not self.is_done:
            plan = more_of_all(self._figures, self._plan, self._weights, self._resolved.required_rps)
            self._known.add(plan)
            self._keep(plan)

    def _keep(self, plan: Sequence[Content]) -> None:
        """Keeps a plan if it is the best."""
        if meets(self._resolved, plan) and self._counted(plan) > self._counted(self._plan):
            self._plan = list(plan)

    @property
    def is_done(self) -> bool:
        """Whether the plan is as near the limit as was asked for."""
        value = self._counted(self._plan) if self._plan else None
        return CAPACITY.is_within(self._resolved.gap, value, self._limit, NO_GAP)

    def price(self, end: float) -> bool:
        """Asks what a content could be worth at better prices; False: nothing more is to be had this way."""
        number, limit = len(self._known), self._limit
        found = master_prices(self._resolved, self._weights, self._known.all())
        if self._likely(self._centre) <= self._likely(found) * (1 + ENOUGH):
            self._ask(self._centre, end, cells=MOST_CELLS, gap=LEAST_GAP)
            return len(self._known) > number or self._limit < limit * (1 - ENOUGH)
        asked = self._centre.between(found, self._part)
        self._grow(asked)
        self._ask(asked, end)
        if self._likely(asked) < self._likely(self._centre):
            self._centre = asked
        self._part = PART if len(self._known) > number else (1 + self._part) / 2
        return True

    def _likely(self, prices: MasterPrices) -> float:
        """Returns the limit at prices if the known contents were all."""
        return limit_at(self._resolved, prices, self._known.most(prices, self._counts), self._counts)

    def _grow(self, prices: MasterPrices) -> None:
        """Lets the contents that are worth most at prices carry more, as these count it."""
        price, _ = prices.of(self._weights)
        for one in self._figures:
            own = self._known.best_of(one.mps.gpu, prices)[:GROWN]
            self._known.add([grown(one, content, price, one.least_rps) for content in own])

    def sharpen(self, end: float) -> bool:
        """Asks again, and longer, where the known contents are worth least; False: nothing new came of it."""
        number, limit = len(self._known), self._limit
        if not self.is_done:
            self._ask(self._centre, end, cells=MOST_CELLS, gap=LEAST_GAP)
        return len(self._known) > number or self._limit < limit * (1 - ENOUGH)

    def _ask(self, prices: MasterPrices, end: float, *, cells: int = CELLS, gap: float = GAP) -> None:
        """Asks what a content is worth at prices: a limit, and contents."""
        price, charge = prices.of(self._weights)
        there, worth = self._known.most(prices, self._counts), {}
        for one in self._figures:
            known = there[one.mps.gpu]
            within = self._cells.get(one.mps.gpu, ())
            found = content_limit(one, price, charge, known=known, within=within, gap=gap, cells=cells, deadline=end)
            worth[one.mps.gpu] = found.limit
            self._known.add(found.contents[:KEPT])
        limit = max(limit_at(self._resolved, prices, worth, self._counts), 0.0)
        if limit < self._limit:
            self._limit, self._prices, self._worth = limit, prices, worth

    def mix(self) -> None:
        """Looks for the best whole numbers of known contents."""
        left = max(self._deadline - time.monotonic(), LEAST_S)
        contents = self._known.all()
        found = best_mix(self._resolved, self._weights, contents, self._plan, time_limit_s=left, gap=self._resolved.gap)
        if found is not None:
            self._keep(found)

    def _counted(self, plan: Sequence[Content]) -> float:
        return value_of(self._weights, plan)

    def answer(self, *, limited: bool) -> MostCapacity:
        """Returns what is found and proven so far."""
        value = self._counted(self._plan) if self._plan else None
        limit = None if self._limit == inf else self._limit
        more = {}
        if limit is not None:
            more = {
                gpu: max(limit_at(self._resolved, self._prices, self._worth, self._counts | {gpu: number + 1}), 0.0)
                for gpu, number in self._counts.items()
            }
        found = MostRequests(StopReason.TIME_LIMIT if limited else StopReason.HEURISTIC_DONE, SOLVER, limit)
        return concluded(self._resolved, found, value, more, tuple(one.gpu for one in self._plan))
