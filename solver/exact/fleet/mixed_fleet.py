"""
Fleets with GPUs under MPS, beside MIG and whole GPUs, solved jointly: type, sharing and contents of every GPU.

Whole GPUs that do no more than shared ones are left out (whole_or_shared.py). Few workloads, or all of them under MPS,
go by one program over sets of residents (fleet_by_sets.py); where its sets are too many to list and services are
whole, surroundings give bound and plans (fleet_by_surroundings.py). Where they may be split, surroundings give plans
alone (whole_parts.py), and GPUs dealt to their residents the bound (fleet_by_dealt_costs.py), or that one GPU does not
hold a few of them (more_than_one_gpu.py). Where workloads may be cut from GPUs too and are many, or their sets too
many to list, prices come first (fleet_by_prices.py): a bound within a moment, raised where there are several types,
of which counts are whole (fleet_counts.py), and plans of cut and of shared GPUs apart (fleet_by_ways.py), then of both
together. The program over sets has the rest of the time, if it is not too large.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

from ...allocation.allocated import AllocatedGpu
from ...model.plan import Start
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ..proof import ended, is_within, report_known
from ..surroundings.customers import Customers, customers_of
from .first_fleet import beyond_counts, first_fleet
from .fleet_answer import FleetAnswer, price_of
from .fleet_by_dealt_costs import with_dealt_bound
from .fleet_by_prices import PRICES, FleetPrices, Place, fleet_prices, plan_at_prices, rents_of
from .fleet_by_sets import ListedSets, list_sets, solve_by_sets
from .fleet_by_ways import plan_by_ways
from .fleet_counts import with_count_cuts
from .kept_limits import keeps_limits
from .more_than_one_gpu import with_bound_of_two
from .whole_or_shared import shared_instead_of_whole
from .whole_parts import whole_parts

if TYPE_CHECKING:
    from .fleet_by_surroundings import PlanAndBound

SOLVER = "slice prices, then HiGHS through MathOpt"

FEW_WORKLOADS = 150
"""Workloads up to which a fleet of cut and shared GPUs goes by one program alone, if all sets are listed."""

MOST_WORKLOADS = 600
"""Workloads up to which a gap that prices leave is handed to the programs over all of the fleet."""

PRICING = 0.3
"""Part of the time that prices and the plan at them may take where the programs follow."""

DEALING = 0.3
"""Part of the time that is left that dealing GPUs to their residents may take where services may be split."""

COUNTING = 0.1
"""Part of the time that is left that cuts on the counts of GPUs may take."""

WHOLE = 0.85
"""Part of the time that is left that a search for plans of whole parts may take where services may be split."""


WAYS = 0.8
"""Part of the time that is left that searches for GPUs that are cut and for shared ones apart may take."""


def solve_mixed_fleet(
    resolved: ResolvedProblem,
    place: Place = lambda _: (),
    known: Iterable[Sequence[AllocatedGpu]] = (),
    *,
    start: Start = None,
    on_answer: Callable[[FleetAnswer], None] = lambda _: None,
    time_limit_s: float,
) -> FleetAnswer:
    """
    Solves a fleet of which some GPUs may be shared by MPS; the module says how.

    Parameters
    ----------
    place
        A heuristic that places workloads on GPUs under MPS, as many as it can; where sets of residents are generated,
        these are the first.
    known
        Plans that serve every workload and keep every limit, found by other ways when they are asked for: after the
        bound and the first plan. The answer is no dearer than any of them.
    start
        Where the search for prices begins.
    on_answer
        Called with the bound, then with each plan before the search for a better one.
    """
    deadline = time.monotonic() + time_limit_s
    resolved = shared_instead_of_whole(resolved)
    workloads = len(resolved.required_rps)
    prices = fleet_prices(resolved, start=start, deadline=time.monotonic() + PRICING * time_limit_s)
    if prices.bound == inf:
        return FleetAnswer(StopReason.INFEASIBLE, SOLVER, None, PRICES, None)
    report_known(None, prices.bound)
    on_answer(_priced_answer(resolved, prices, None, limited=True))
    plans: list[Sequence[AllocatedGpu]] = []
    least = inf
    for plan in chain(_first(resolved, prices, deadline), known):
        plans.append(plan)
        close = _priced_answer(resolved, prices, _cheapest(resolved, plans), limited=True)
        on_answer(close)
        if price_of(resolved, plan) < least:
            least = price_of(resolved, plan)
            report_known(least, prices.bound)
        if close.stopped == StopReason.GAP_REACHED:
            return close
    sets = list_sets(resolved)
    customers = None if sets.complete else customers_of(resolved, sets.shared)
    best = _cheapest(resolved, plans)
    near = beyond_counts(resolved, prices, deadline=deadline) if best is None else best
    if customers is not None and near is not None:
        return _by_surroundings(resolved, prices, sets, customers, _known(resolved, prices, near), on_answer, deadline)
    # The program over all sets of whole services proves all that there is to prove.
    proves = sets.complete and not sets.shared.splits
    dealt = prices if proves else _with_dealt_bound(resolved, prices, best, on_answer, deadline)
    if dealt.bound == inf:
        return FleetAnswer(StopReason.INFEASIBLE, SOLVER, None, dealt.method, None)
    if dealt.bound > prices.bound and best is not None and _is_near(resolved, best, dealt):
        return _priced_answer(resolved, dealt, best, limited=False)
    prices = dealt
    bound = prices.bound, prices.method
    if not sets.complete and near is not None:
        whole = _in_whole_parts(resolved, prices, near, on_answer, deadline)
        if whole.stopped in (StopReason.PROVED, StopReason.GAP_REACHED):
            return whole
        plans += [] if whole.gpus is None else [whole.gpus]
    if (sets.complete and workloads <= FEW_WORKLOADS) or not resolved.capacity_rps.any():
        return replace(solve_by_sets(resolved, sets, place, plans, bound, deadline), prices=prices)
    apart = _by_ways(resolved, prices, place, _cheapest(resolved, plans), on_answer, deadline)
    if apart is not None:
        if _is_near(resolved, apart, prices):
            return _priced_answer(resolved, prices, apart, limited=False)
        plans.append(apart)
    first = _by_prices(resolved, prices, place, plans, on_answer, deadline)
    if (
        first.stopped in (StopReason.PROVED, StopReason.GAP_REACHED)
        or workloads > MOST_WORKLOADS
        or time.monotonic() > deadline
    ):
        return first
    plans = plans if first.gpus is None else [*plans, first.gpus]
    return replace(solve_by_sets(resolved, sets, place, plans, bound, deadline), prices=prices)


def _known(resolved: ResolvedProblem, prices: FleetPrices, gpus: Sequence[AllocatedGpu]) -> "PlanAndBound":
    """Returns GPUs that surroundings begin with, perhaps more of them than there are, and the bound of the prices."""
    # Here and below, as scipy takes longer to load than most problems under MPS, which need none, take to solve.
    from .fleet_by_surroundings import PlanAndBound

    cost = price_of(resolved, gpus) if keeps_limits(resolved, gpus) else inf
    return PlanAndBound(gpus, cost, (prices.bound, prices.method))


def _by_surroundings(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    sets: ListedSets,
    customers: Customers,
    known: "PlanAndBound",
    on_answer: Callable[[FleetAnswer], None],
    deadline: float,
) -> FleetAnswer:
    """Returns the best plan and bound by the surroundings of residents, of known ones to begin with."""
    from .fleet_by_surroundings import SurroundingsSearch

    def answer(found: "PlanAndBound", limited: bool) -> FleetAnswer:
        return _answer(resolved, prices, found.bound, found.plan, limited)

    def better(found: "PlanAndBound") -> None:
        on_answer(answer(found, limited=True))
        report_known(None if found.plan is None else found.cost, found.bound[0])

    rented = customers.with_rents(rents_of(resolved, prices))
    search = SurroundingsSearch(resolved, sets, rented, known, better)
    search.run(deadline)
    if search.is_impossible:
        return FleetAnswer(StopReason.INFEASIBLE, SOLVER, None, search.best.bound[1], None)
    return answer(search.best, limited=time.monotonic() >= deadline)


def _with_dealt_bound(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    best: list[AllocatedGpu] | None,
    on_answer: Callable[[FleetAnswer], None],
    deadline: float,
) -> FleetPrices:
    """Returns the prices with the bound by dealt GPUs where that is greater."""
    until = time.monotonic() + DEALING * max(deadline - time.monotonic(), 0.0)
    cost = None if best is None else price_of(resolved, best)
    greater = with_dealt_bound(resolved, prices, cost, deadline=until)
    until = time.monotonic() + DEALING * max(deadline - time.monotonic(), 0.0)
    greater = with_bound_of_two(resolved, greater, cost, deadline=until)
    until = time.monotonic() + COUNTING * max(deadline - time.monotonic(), 0.0)
    greater = with_count_cuts(resolved, greater, cost, deadline=until)
    if greater.bound > prices.bound:
        report_known(cost, greater.bound)
        on_answer(_priced_answer(resolved, greater, best, limited=True))
    return greater


def _in_whole_parts(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    near: Sequence[AllocatedGpu],
    on_answer: Callable[[FleetAnswer], None],
    deadline: float,
) -> FleetAnswer:
    """Returns the best plan of services in whole parts, or the known one, with the bound of the prices."""
    from .fleet_by_surroundings import SurroundingsSearch

    known = _known(resolved, prices, near)

    def answer(gpus: list[AllocatedGpu] | None) -> FleetAnswer:
        return _priced_answer(resolved, prices, gpus, limited=True)

    parts = whole_parts(resolved)
    if parts is None:
        return answer(known.plan)
    whole = shared_instead_of_whole(parts.resolved)
    sets = list_sets(whole)
    customers = customers_of(whole, sets.shared)
    if customers is None:
        return answer(known.plan)

    def of_services(found: "PlanAndBound") -> FleetAnswer:
        return answer(None if found.plan is None else parts.of_services(found.plan))

    cost = known.cost

    def better(found: "PlanAndBound") -> None:
        nonlocal cost
        # What bounds parts says nothing of services, so it is a plan alone that is news.
        if found.cost < cost:
            cost = found.cost
            on_answer(of_services(found))
            report_known(cost, prices.bound)

    begun = replace(known, gpus=parts.of_parts(near))
    rented = customers.with_rents(rents_of(resolved, prices))
    search = SurroundingsSearch(whole, sets, rented, begun, better)
    search.run(time.monotonic() + WHOLE * max(deadline - time.monotonic(), 0.0))
    return of_services(search.best)


def _first(resolved: ResolvedProblem, prices: FleetPrices, deadline: float) -> Iterator[Sequence[AllocatedGpu]]:
    first = first_fleet(resolved, prices, deadline=deadline)
    if first is not None:
        yield first


def _by_ways(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    place: Place,
    best: list[AllocatedGpu] | None,
    on_answer: Callable[[FleetAnswer], None],
    deadline: float,
) -> list[AllocatedGpu] | None:
    """Returns a cheaper plan than the best known, of cut GPUs and of shared ones apart; None: none is found."""

    def solve_shared(part: ResolvedProblem, time_limit_s: float) -> list[AllocatedGpu] | None:
        return solve_mixed_fleet(part, place, time_limit_s=time_limit_s).gpus

    def better(gpus: list[AllocatedGpu]) -> None:
        report_known(price_of(resolved, gpus), prices.bound)
        on_answer(_priced_answer(resolved, prices, gpus, limited=True))

    until = time.monotonic() + WAYS * max(deadline - time.monotonic(), 0.0)
    return plan_by_ways(resolved, prices, best, solve_shared, better, deadline=until)


def _by_prices(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    place: Place,
    plans: Sequence[Sequence[AllocatedGpu]],
    on_answer: Callable[[FleetAnswer], None],
    deadline: float,
) -> FleetAnswer:
    """Returns the better of the known plans and of that at the prices, with their bound."""
    small = len(resolved.required_rps) <= MOST_WORKLOADS
    until = time.monotonic() + (PRICING if small else 1.0) * max(deadline - time.monotonic(), 0.05)
    best = _cheapest(resolved, plans)
    found, limited = plan_at_prices(resolved, prices, place, deadline=until)
    if found is None or (best is not None and price_of(resolved, best) <= found.cost):
        return _priced_answer(resolved, prices, best, limited)
    answer = _priced_answer(resolved, prices, found.gpus, limited)
    report_known(found.cost, prices.bound)
    on_answer(answer)
    return answer


def _cheapest(resolved: ResolvedProblem, plans: Sequence[Sequence[AllocatedGpu]]) -> list[AllocatedGpu] | None:
    """Returns the cheapest of the known plans; None: there is none."""
    best = min(plans, key=lambda plan: price_of(resolved, plan), default=None)
    return None if best is None else list(best)


def _is_near(resolved: ResolvedProblem, gpus: Sequence[AllocatedGpu], prices: FleetPrices) -> bool:
    """Tells whether a plan is proven, or within the gap that is asked for."""
    return is_within(resolved.gap, price_of(resolved, gpus), prices.bound)


def _priced_answer(
    resolved: ResolvedProblem, prices: FleetPrices, gpus: list[AllocatedGpu] | None, limited: bool
) -> FleetAnswer:
    return _answer(resolved, prices, (prices.bound, prices.method), gpus, limited)


def _answer(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    bound: tuple[float, str],
    gpus: list[AllocatedGpu] | None,
    limited: bool,
) -> FleetAnswer:
    cost = None if gpus is None else price_of(resolved, gpus)
    stopped = ended(cost, bound[0], gap=resolved.gap, limited=limited)
    return FleetAnswer(stopped, SOLVER, *bound, gpus, prices)
