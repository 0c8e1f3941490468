"""
Most capacity on counted GPUs under MPS: a plan by generated contents, and the least limit that prices proved.

The first plan is one of least cost (exact/fleet), whose contents are grown (grown.py); GPUs that it leaves take what is
worth most. Then prices of the linear program over known contents (program.py) are asked for what a content could be
worth (content_limit.py), which is a limit and gives further contents, until time or rounds are over; whole numbers of
all contents make the last plan. Prices move a part of the way from the most promising ones so far, for those of few
contents are wild; the last question is asked there, and longer.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...model.objective import CAPACITY
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..capacity.answer import NO_GAP, MostCapacity, concluded, weights_of
from ..capacity.most_requests import MostRequests, solo_capacity
from ..fleet.fleet_by_prices import Place
from ..fleet.mixed_fleet import solve_mixed_fleet
from .content_limit import content_limit
from .figures import Content, Figures
from .grown import grown, more_of_all
from .program import MasterPrices, best_mix, limit_at, master_prices, meets, value_of

FIRST = 0.4
"""Part of the time for a plan that serves the rates."""

MIXING = 0.25
"""Part of what is then left for whole numbers of contents."""

GUESSING = 0.6
"""Part of the time for prices that goes for looking for them; the rest is for what they prove."""

ROUNDS = 40
CELLS, GAP = 150, 2e-3
"""Of one question for a content, at most and at least."""

MOST_CELLS, LEAST_GAP = 4_000, 5e-4
"""The same for the last one."""

GROWN = 6
"""Contents of one question that are let carry more."""

HALF, SHORTER = 0.5, 0.7
"""Of the way from the best prices so far to those of the program; the factor for each round that did not help."""

STALE = 10
"""Rounds without a limit that fell by ENOUGH, a part of it, after which the search for prices ends."""

ENOUGH = 1e-4
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
    search.begin([one for one in cheap.gpus or () if isinstance(one, MpsGpu)])
    on_answer(search.answer(limited=True))
    pricing_end = deadline - MIXING * max(deadline - time.monotonic(), 0.0)
    rounds_end = time.monotonic() + GUESSING * max(pricing_end - time.monotonic(), 0.0)
    for _ in range(ROUNDS):
        if time.monotonic() >= rounds_end or search.is_done or not search.price(rounds_end):
            break
        on_answer(search.answer(limited=True))
    search.sharpen(pricing_end)
    on_answer(search.answer(limited=True))
    search.mix()
    return search.answer(limited=time.monotonic() >= deadline)


class _Search:
    """Contents, the best plan of them, and the least limit, as they are found."""

    def __init__(self, resolved: ResolvedProblem, weights: Floats, deadline: float) -> None:
        self._resolved, self._weights, self._deadline = resolved, weights, deadline
        self._figures = [Figures.of(resolved, mps) for mps in resolved.mps.values()]
        self._counts = {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}
        self._contents: dict[MpsGpu, Content] = {}
        self._plan: list[Content] = []
        n = len(weights)
        self._prices = MasterPrices(np.zeros(n), np.zeros(n), np.zeros(n))
        self._worth: dict[str, float] = {}
        self._limit = inf
        self._likely = inf, self._prices
        """The least limit as known contents have it, which may be too low, and its prices."""
        self._stale = 0

    def begin(self, gpus: Sequence[MpsGpu]) -> None:
        """Takes a plan that serves the rates, fills the GPUs that it leaves, and lets all of them carry more."""
        by_gpu = {one.mps.gpu: one for one in self._figures}
        plan = [content for one in gpus if (content := by_gpu[one.gpu].content(one.residents)) is not None]
        self._ask(self._prices, self._deadline)
        if not plan or not meets(self._resolved, plan):
            return
        plan = more_of_all(self._figures, [*plan, *self._fillers(plan)], self._weights, self._resolved.required_rps)
        self._add(plan)
        self._plan = plan

    def _fillers(self, plan: Sequence[Content]) -> Iterator[Content]:
        """Yields what is worth most on the GPUs that a plan leaves, as far as nobody has too many residents there."""
        n = len(self._weights)
        most = np.array([one.max_replicas or inf for one in self._resolved.problem.workloads])
        left = most - sum((one.replicas(n) for one in plan), np.zeros(n))
        for gpu, count in self._counts.items():
            own = [one for one in self._contents.values() if one.gpu.gpu == gpu]
            own.sort(key=lambda one: -float(self._weights @ one.rates(n)))
            for _ in range(count - sum(one.gpu.gpu == gpu for one in plan)):
                fitting = next((one for one in own if np.all(one.replicas(n) <= left)), None)
                if fitting is None:
                    break
                left -= fitting.replicas(n)
                yield fitting

    @property
    def is_done(self) -> bool:
        """Whether the plan is as near the limit as was asked for."""
        value = self._counted(self._plan) if self._plan else None
        return CAPACITY.is_within(self._resolved.gap, value, self._limit, NO_GAP)

    def price(self, end: float) -> bool:
        """Asks what a content could be worth at better prices; False: nothing more is to be had this way."""
        if not self._plan:
            return False
        found = master_prices(self._resolved, self._weights, list(self._contents.values()))
        if found is None:
            return False
        known, best = len(self._contents), self._likely[0]
        self._grow(found)
        self._ask(self._likely[1].between(found, HALF * SHORTER**self._stale), end)
        improved = self._likely[0] < best * (1 - ENOUGH)
        self._stale = 0 if improved else self._stale + 1
        return self._stale < STALE and (improved or len(self._contents) > known)

    def _grow(self, prices: MasterPrices) -> None:
        """Lets the contents that are worth most at prices carry more, as these count it."""
        price, charge = self._weights + prices.of_rate, prices.of_more - prices.of_less
        for one in self._figures:
            own = sorted(self._of_type(one.mps.gpu), key=lambda content: -self._worth_of(content, price, charge))
            self._add([grown(one, content, price, np.zeros(len(price))) for content in own[:GROWN]])

    def sharpen(self, end: float) -> None:
        """Asks again, and longer, at the prices where the contents that are known are worth least."""
        if self._plan and not self.is_done:
            self._ask(self._likely[1], end, cells=MOST_CELLS, gap=LEAST_GAP)

    def _ask(self, prices: MasterPrices, end: float, *, cells: int = CELLS, gap: float = GAP) -> None:
        """Asks what a content is worth at prices: a limit, and contents."""
        price, charge = self._weights + prices.of_rate, prices.of_more - prices.of_less
        worth, there = {}, {}
        for one in self._figures:
            known = [self._worth_of(content, price, charge) for content in self._of_type(one.mps.gpu)]
            found = content_limit(one, price, charge, known=max(known, default=0.0), gap=gap, cells=cells, deadline=end)
            worth[one.mps.gpu] = found.limit
            self._add(found.contents[:KEPT])
            self._add(grown(one, content, price, np.zeros(len(price))) for content in found.contents[:2])
            known += [self._worth_of(content, price, charge) for content in found.contents[:1]]
            there[one.mps.gpu] = max(known, default=0.0)
        limit = limit_at(self._resolved, prices, worth, self._counts)
        likely = limit_at(self._resolved, prices, there, self._counts)
        if likely < self._likely[0]:
            self._likely = likely, prices
        if limit < self._limit:
            self._limit, self._prices, self._worth = limit, prices, worth

    def _of_type(self, gpu: str) -> list[Content]:
        return [one for one in self._contents.values() if one.gpu.gpu == gpu]

    def _worth_of(self, content: Content, price: Floats, charge: Floats) -> float:
        n = len(self._weights)
        return float(price @ content.rates(n) - charge @ content.replicas(n))

    def _add(self, contents: Iterable[Content]) -> None:
        for one in contents:
            self._contents.setdefault(one.gpu, one)

    def mix(self) -> None:
        """Looks for the best whole numbers of known contents."""
        if not self._plan:
            return
        left = max(self._deadline - time.monotonic(), LEAST_S)
        contents = list(self._contents.values())
        found = best_mix(self._resolved, self._weights, contents, self._plan, time_limit_s=left, gap=self._resolved.gap)
        if found is None:
            return
        better = more_of_all(self._figures, found, self._weights, self._resolved.required_rps)
        for plan in (found, better):
            if meets(self._resolved, plan) and self._counted(plan) > self._counted(self._plan):
                self._plan = plan

    def _counted(self, plan: Sequence[Content]) -> float:
        return value_of(self._weights, plan)

    def answer(self, *, limited: bool) -> MostCapacity:
        """Returns what is found and proven so far."""
        value = self._counted(self._plan) if self._plan else None
        limit = None if self._limit == inf else self._limit
        more = {}
        if limit is not None:
            more = {
                gpu: limit_at(self._resolved, self._prices, self._worth, self._counts | {gpu: number + 1})
                for gpu, number in self._counts.items()
            }
        found = MostRequests(StopReason.TIME_LIMIT if limited else StopReason.HEURISTIC_DONE, SOLVER, limit)
        return concluded(self._resolved, found, value, more, tuple(one.gpu for one in self._plan))
