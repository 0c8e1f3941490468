"""
Most capacity on counted GPUs of which some are shared by MPS: a plan by generated contents, and the least limit proved.

The first plan is one of least cost (exact/fleet). What carries most stands apart from it on the GPUs that it leaves
(apart.py), then its contents are grown (grown.py). Prices begin as those of units if nobody slowed a neighbour
(alone.py), or of least cost (least_cost_prices.py). They are improved without proof: contents near those that are worth
most are looked for (near_contents.py) a part of the way to the best prices in a box about those so far
(near_prices.py). A plan is made of parts of the contents that are known then (dived.py). What a content could be worth
at the best prices so far is asked last (content_limit.py): a limit, and contents that were not near. In the time that
is left some GPUs of the best plan are freed and filled anew, again and again (freed.py).

Where services may have several replicas there are many more plans, of which fewer are seen in the time. So plans come
first in which no service is split that one replica serves: they are plans of the problem, and the limit is not theirs.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...model.objective import CAPACITY
from ...model.stop_reason import StopReason
from ...performance.alone import alone_on
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..capacity.answer import NO_GAP, MostCapacity, concluded
from ..capacity.most_requests import MostRequests
from ..capacity.solo import solo_capacity, weights_of
from ..fleet.fleet_by_prices import Place
from ..fleet.mixed_fleet import solve_mixed_fleet
from .alone import prices_of_units
from .apart import Cheap, set_apart
from .asked_rows import AskedRows
from .completed import completed
from .dealt_resources.cells import SharedCells
from .dealt_resources.limit import ResourcePrices
from .dealt_resources.plans import Dealer
from .dealt_resources.prices import Proven
from .dived import dived, with_all
from .freed import better_plans, join_near_program
from .gpu_contents import Content
from .known import KnownContents
from .least_cost_prices import prices_of_least_cost
from .near_prices import Steps
from .of_fleet import content_of, contents_of_fleet, more_of_all
from .prices import MasterPrices, is_of_no_plan, limit_at
from .program import value_of
from .shared_gpus import SharedGpus

FIRST = 0.2
"""Part of the time for a plan that serves the rates."""

ASKING = 0.02
"""Part of the time for a first question."""

APART = 0.08
"""Part of the time for what stands apart."""

AT_LEAST_COST = 0.07
"""Part of the time for prices of least cost."""

PRICING = 0.12
"""Part of the time for better prices without proof."""

MIXING = 0.06
"""Part of the time, at the end, for filling GPUs anew."""

ONE_EACH = 0.6
"""Part of the time, at most, for plans in which no service is split that one replica serves, where it may be."""

DIVING = 0.4
"""Part of the time for a plan of parts of contents, at most."""

AGAIN = 2.0
"""Times as long as the last question took that is left for another: at better prices more cells are alike."""

RESOURCES, DEALING = 0.08, 0.1
"""Parts of the time for prices of resources, and for plans by them."""

FEW, MANY = 60, 300
"""
Services up to which contents are so few that their prices settle before; and beyond which they do not, so that
resources have all the time.
"""

RESOURCES_OF_MANY, DEALING_OF_MANY = 0.25, 0.5
"""Parts of the time of so many."""

ROUNDS = 100_000
"""Steps of prices, and questions, at most; mostly time ends them before."""

CELLS, GAP = 60, 2e-3
"""Of the first question, at most and at least."""

MOST_CELLS, LEAST_GAP = 12_000, 1e-4
"""The same for others."""

GROWN = 6
"""Contents of one step of prices that are let carry more."""

NEAR = 8
"""Contents of one step of prices near which others are looked for."""

NOTHING = 1e-6
"""Part of the limit by which prices may be worse than the best ones near them."""

ENOUGH = 1e-4
"""Part of the limit by which prices may be worse than the best ones of the known contents."""

ANY = 1.0
"""Gap with which a plan of least cost is enough to begin with."""

KEPT = 400
"""Contents of one question that are kept, the most valuable ones."""

SOLVER = "contents by prices, HiGHS through MathOpt"

METHOD = (
    "most weighted requests/s of any contents of GPUs at prices of rates and replicas: cells of residents "
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
    Returns the plan that could carry most on the GPUs that there are; every GPU type has a count.

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
    weights = weights_of(resolved.problem.settings.capacity_weights, solo)
    search = _Search(resolved, weights, deadline)

    def said() -> None:
        on_answer(search.answer(limited=True))

    one_each = _one_replica_each(resolved)
    cheap, limit_s = None, FIRST * time_limit_s
    if one_each is not None:
        cheap = solve_mixed_fleet(replace(one_each, gap=ANY), place, known, time_limit_s=limit_s)
    is_whole = cheap is not None and cheap.gpus is not None
    if cheap is None or cheap.gpus is None:
        cheap = solve_mixed_fleet(replace(resolved, gap=ANY), place, known, time_limit_s=limit_s)
    if cheap.stopped is StopReason.INFEASIBLE:
        return MostCapacity(StopReason.INFEASIBLE, cheap.solver, None, None)
    is_many = len(weights) > MANY and search.has_resources
    search.begin(cheap.gpus or (), 0.0 if is_many else ASKING * time_limit_s)
    if search.is_infeasible:
        return search.answer(limited=False)
    said()
    if is_many:
        for _ in _of_many(search, one_each if is_whole else None, place, cheap.gpus or (), time_limit_s, deadline):
            said()
        return search.answer(limited=time.monotonic() >= deadline)
    mixing, is_dealt = deadline - MIXING * time_limit_s, len(weights) > FEW
    if one_each is not None and is_whole:
        first = _Search(one_each, weights, min(time.monotonic() + ONE_EACH * time_limit_s, deadline))
        first.begin(cheap.gpus or (), ASKING * time_limit_s)
        for _ in _planned(first, place, time_limit_s, mixing, is_dealt=is_dealt):
            search.take(first)
            said()
    else:
        for _ in _planned(search, place, time_limit_s, mixing, is_dealt=is_dealt):
            said()
    search.improve_prices(min(time.monotonic() + PRICING * time_limit_s, mixing))
    for _ in range(ROUNDS):
        begun = time.monotonic()
        if search.is_done or begun >= mixing or not search.ask(mixing):
            break
        said()
        search.improve_prices(mixing - AGAIN * (time.monotonic() - begun))
    said()
    for _ in search.mixed():
        said()
    search.carry_more()
    return search.answer(limited=time.monotonic() >= deadline)


def _planned(search: "_Search", place: Place, time_limit_s: float, mixing: float, *, is_dealt: bool) -> Iterator[None]:
    """Looks for a plan and for prices without proof, and yields after each step in which a plan may become better."""
    if is_dealt:
        search.price_resources(min(time.monotonic() + RESOURCES * time_limit_s, mixing))
        dealt_end = min(time.monotonic() + DEALING * time_limit_s, mixing)
        search.deal(partial(_of_any_cost, place, dealt_end), dealt_end)
        yield
    apart_end = min(time.monotonic() + APART * time_limit_s, mixing)
    search.set_apart(partial(_of_least_cost, place, apart_end), apart_end)
    yield
    search.carry_more()
    yield
    search.price_at_least_cost(min(time.monotonic() + AT_LEAST_COST * time_limit_s, mixing))
    search.improve_prices(min(time.monotonic() + PRICING * time_limit_s, mixing))
    search.dive(min(time.monotonic() + DIVING * time_limit_s, mixing))
    yield


def _of_many(
    search: "_Search",
    one_each: ResolvedProblem | None,
    place: Place,
    gpus: Sequence[AllocatedGpu],
    time_limit_s: float,
    deadline: float,
) -> Iterator[None]:
    """
    Looks for a limit and plans by prices of resources alone, and yields after each step.

    Parameters
    ----------
    one_each
        The problem without splitting, whose plans are looked for; None: the problem itself.
    gpus
        A plan of it that serves the rates.
    """
    search.price_resources(time.monotonic() + RESOURCES_OF_MANY * time_limit_s)
    yield
    planned = search
    if one_each is not None:
        planned = search.of(one_each)
        planned.begin(gpus, 0.0)
        planned.price_resources(time.monotonic() + RESOURCES_OF_MANY * time_limit_s / 2)
    end = min(time.monotonic() + DEALING_OF_MANY * time_limit_s, deadline)
    planned.deal(partial(_of_any_cost, place, deadline), end)
    search.take(planned)
    yield
    search.carry_more()
    yield


def _of_any_cost(place: Place, end: float, others: ResolvedProblem, part: float) -> Sequence[AllocatedGpu] | None:
    """Returns the GPUs of a plan that is found at once; None: none was."""
    left_s = end - time.monotonic()
    if left_s <= 0:
        return None
    return solve_mixed_fleet(replace(whole(others), gap=ANY), place, time_limit_s=part * left_s).gpus


def _one_replica_each(resolved: ResolvedProblem) -> ResolvedProblem | None:
    """Returns the problem without splitting where one replica may serve; None: that is the problem itself."""
    if all(one.max_replicas == 1 for one in resolved.problem.workloads):
        return None
    found = whole(resolved)
    return found if found.problem.workloads != resolved.problem.workloads else None


def _of_least_cost(place: Place, end: float, others: ResolvedProblem, part: float) -> Sequence[AllocatedGpu] | None:
    """Returns the GPUs of a plan of least cost, found in a part of the time until `end`; None: none was found."""
    left_s = end - time.monotonic()
    found = solve_mixed_fleet(whole(others), place, time_limit_s=part * left_s) if left_s > 0 else None
    return None if found is None else found.gpus


def whole(resolved: ResolvedProblem) -> ResolvedProblem:
    """
    Returns a problem in which no service is split that one replica serves.

    Its plans are plans of the problem; they are found in less time, and few are dearer.
    """
    most = resolved.capacity_rps.max(axis=1, initial=0.0)
    for mps in resolved.mps.values():
        most = np.maximum(most, alone_on(mps, resolved.limit_ms).greatest_rps)
    workloads = tuple(
        one.model_copy(update={"max_replicas": 1}) if carried >= rate and one.min_replicas <= 1 else one
        for one, carried, rate in zip(resolved.problem.workloads, most, resolved.required_rps, strict=True)
    )
    return replace(resolved, problem=resolved.problem.model_copy(update={"workloads": workloads}))


class _Search:
    """Contents, the best plan of them, and the least limit, as they are found."""

    def __init__(self, resolved: ResolvedProblem, weights: Floats, deadline: float) -> None:
        self._resolved, self._weights, self._deadline = resolved, weights, deadline
        self._fleet = contents_of_fleet(resolved, weights)
        self._counts = {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}
        self._known = KnownContents(weights, resolved.required_rps)
        self._served: list[Content] = []
        """The plan of least cost."""
        self._plan: list[Content] = []
        self._asked = AskedRows.of(resolved)
        self._centre = prices_of_units(self._fleet, self._asked.once, weights, resolved.required_rps, self._counts)
        """The prices at which the limit would be least if the known contents were all."""
        self._prices = self._centre
        self._asked_at: MasterPrices | None = None
        """The prices of the last question of all contents."""
        self._steps = Steps()
        self._worth: dict[str, float] = {}
        self._limit = inf
        self._dealer: Dealer | None = None

    def of(self, other: ResolvedProblem) -> "_Search":
        """Returns a search for plans of another problem of the same services and GPUs."""
        return _Search(other, self._weights, self._deadline)

    @property
    def has_resources(self) -> bool:
        """Whether all GPUs are shared by MPS only, so that prices of their resources say what they are worth."""
        return all(isinstance(one, SharedGpus) for one in self._fleet)

    def begin(self, gpus: Sequence[AllocatedGpu], asking_s: float) -> None:
        """Takes a plan that serves the rates, and asks what a content is worth if there is time for that."""
        plan = [content for one in gpus if (content := content_of(self._fleet, one)) is not None]
        if asking_s > 0:
            self._ask(self._centre, time.monotonic() + asking_s, cells=CELLS, gap=GAP)
        if not plan or not self._asked.are_met_by(plan):
            return
        self._known.add(plan)
        self._served = plan
        self._keep(plan)

    def take(self, other: "_Search") -> None:
        """Takes contents and the plan of a search of which every plan is one of this problem."""
        self._known.add(other._known.all())
        self._keep(other._plan)

    def price_resources(self, end: float) -> None:
        """Takes prices of resources, and what they prove, if all GPUs are under MPS; looked for until `end`."""
        if self.is_done or not self.has_resources:
            return
        shared = [SharedCells(one.figures, self._weights) for one in self._fleet if isinstance(one, SharedGpus)]
        found = ResourcePrices(shared, self._asked.once, self._counts, self._limit_of)
        found.improve(end)
        limit = self._limit_of(found.best)
        if limit < self._limit:
            self._limit, self._prices, self._worth = limit, found.best.prices, dict(found.best.worth)
            self._centre = found.best.prices
        price, charge = found.best.prices.of(self._weights)
        paid = charge - (price - self._weights) * self._resolved.required_rps
        worth = max(found.best.worth.values())
        self._dealer = Dealer(shared, found.points(), self._counts, self._weights, paid, worth)

    def _limit_of(self, proven: Proven) -> float:
        return limit_at(self._resolved, proven.prices, proven.worth, self._counts)

    def deal(self, cheap: Cheap, end: float) -> None:
        """Deals services to GPUs as prices of resources say, until `end`, and makes a plan of the best round."""
        if self.is_done or self._dealer is None:
            return
        best = None
        for one in self._dealer.rounds(end):
            self._known.add(one.contents)
            best = one if best is None or one.lacks < best.lacks else best
        if best is not None:
            plan = completed(self._resolved, self._fleet, best.contents, cheap)
            if plan is not None:
                self._known.add(plan)
                self._keep(plan)

    def price_at_least_cost(self, end: float) -> None:
        """Takes prices of least cost if there are any that are better; they are looked for until `end`."""
        if self.is_done or len(self._fleet) != 1 or not self._served:
            return
        (only,) = self._fleet
        plan = [one.gpu for one in self._served if isinstance(one.gpu, MpsGpu)]
        if not isinstance(only, SharedGpus) or not plan:
            return
        found = prices_of_least_cost(self._resolved, only.figures, self._weights, plan, deadline=end)
        self._centre = min([self._centre, *found], key=self._likely)

    def set_apart(self, cheap: Cheap, end: float) -> None:
        """Lets services that carry much stand on GPUs of their own."""
        if self._plan and not self.is_done:
            plan = set_apart(
                self._resolved, self._fleet, self._weights, self._centre, self._served, cheap, deadline=end
            )
            self._known.add(plan)
            self._keep(plan)

    def carry_more(self) -> None:
        """Lets the GPUs of the best plan carry more."""
        if self._plan and not self.is_done:
            plan = more_of_all(self._fleet, self._plan, self._weights, self._resolved.required_rps)
            self._known.add(plan)
            self._keep(plan)

    def _keep(self, plan: Sequence[Content]) -> None:
        """Keeps a plan if it is the best."""
        if self._asked.are_met_by(plan) and self._counted(plan) > self._counted(self._plan):
            self._plan = list(plan)

    @property
    def is_infeasible(self) -> bool:
        """Whether it is proven that no plan carries the rates."""
        counted = float(self._weights @ self._resolved.required_rps)
        paid = float(self._prices.of_rate @ self._resolved.required_rps)
        return not self._plan and is_of_no_plan(self._limit, counted, paid)

    @property
    def is_done(self) -> bool:
        """Whether the plan is as near the limit as was asked for, or there is none."""
        if self.is_infeasible:
            return True
        value = self._counted(self._plan) if self._plan else None
        return CAPACITY.is_within(self._resolved.gap, value, self._limit, NO_GAP)

    def improve_prices(self, end: float) -> None:
        """Looks for better prices, and for contents near those that are worth most at them."""
        while not self.is_done and time.monotonic() < end:
            number, before = len(self._known), self._likely(self._centre)
            found = self._known.prices_near(self._asked, self._counts, self._centre, self._steps.box)
            expected = before - self._likely(found)
            asked = self._centre.between(found, self._steps.way)
            self._grow(asked)
            self._known.add_near(self._fleet, asked, NEAR)
            fall = self._likely(self._centre) - self._likely(asked)
            if fall > 0:
                self._centre = asked
            is_new = len(self._known) > number
            if not is_new and self._steps.way == 1 and fall <= NOTHING * abs(before):
                return
            self._steps = self._steps.after(fall, expected, is_new=is_new)

    def _likely(self, prices: MasterPrices) -> float:
        """Returns the limit at prices if the known contents were all."""
        return limit_at(self._resolved, prices, self._known.most(prices, self._counts), self._counts)

    def _grow(self, prices: MasterPrices) -> None:
        """Lets the contents that are worth most at prices carry more, as these count it."""
        price, _ = prices.of(self._weights)
        for one in self._fleet:
            own = [content for content in self._known.best_of(one.gpu, prices) if one.has(content)][:GROWN]
            self._known.add([one.grown(content, price, self._asked.least_of_one) for content in own])

    def ask(self, end: float) -> bool:
        """Asks what a content is worth where the known ones are worth least; False: no better prices are to be had."""
        if self._centre is self._asked_at:
            return False
        self._asked_at = self._centre
        likely, limit = self._likely(self._centre), self._limit
        self._ask(self._centre, end, cells=MOST_CELLS, gap=LEAST_GAP)
        return self._limit < limit * (1 - ENOUGH) or self._likely(self._centre) > likely + ENOUGH * abs(likely)

    def _ask(self, prices: MasterPrices, end: float, *, cells: int, gap: float) -> None:
        """Asks what a content is worth at prices: a limit, and contents."""
        worth = self._known.ask(self._fleet, prices, self._counts, gap=gap, cells=cells, kept=KEPT, deadline=end)
        limit = limit_at(self._resolved, prices, worth, self._counts)
        if limit < self._limit:
            self._limit, self._prices, self._worth = limit, prices, worth

    def mixed(self) -> Iterator[None]:
        """Frees GPUs of the best plan and fills them anew, and yields after each better plan."""
        if self.is_done:
            return
        for better in self._better(self._plan, self._deadline):
            self._keep(better)
            yield
            if self.is_done:
                return

    def dive(self, end: float) -> None:
        """Makes a plan of parts of contents."""
        if self.is_done or time.monotonic() >= end:
            return
        join_near_program(self._asked, self._counts, self._known, self._fleet, deadline=end)
        # More is known than before, so prices may go farther.
        self._steps = Steps()
        found = dived(self._asked, self._counts, self._known, self._fleet, deadline=end)
        found = with_all(self._asked, self._weights, found, self._known, self._fleet, deadline=end)
        self._keep(found)
        if not self._asked.are_met_by(found):
            for better in self._better(found, end):
                if self._asked.are_met_by(better):
                    self._keep(better)
                    break

    def _better(self, plan: Sequence[Content], end: float) -> Iterator[Sequence[Content]]:
        """Yields plans that are ever better than one, until `end`."""
        return better_plans(self._asked, self._weights, self._counts, plan, self._known, self._fleet, deadline=end)

    def _counted(self, plan: Sequence[Content]) -> float:
        return value_of(self._weights, plan)

    def answer(self, *, limited: bool) -> MostCapacity:
        """Returns what is found and proven so far."""
        value = self._counted(self._plan) if self._plan else None
        if self.is_infeasible:
            return MostCapacity(StopReason.INFEASIBLE, SOLVER, None, None)
        limit = None if self._limit == inf else max(self._limit, 0.0)
        more = {}
        if limit is not None:
            more = {
                gpu: max(limit_at(self._resolved, self._prices, self._worth, self._counts | {gpu: number + 1}), 0.0)
                for gpu, number in self._counts.items()
            }
        found = MostRequests(StopReason.TIME_LIMIT if limited else StopReason.HEURISTIC_DONE, SOLVER, limit)
        return concluded(self._resolved, found, value, more, tuple(one.gpu for one in self._plan))
