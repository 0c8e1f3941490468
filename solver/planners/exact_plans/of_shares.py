"""Least cost on a fleet of which some GPUs may be shared by MPS."""

import time
from dataclasses import replace
from functools import partial

from ...allocation.assembly import assemble, without_plan
from ...exact.fleet.fleet_answer import FleetAnswer
from ...exact.fleet.mixed_fleet import solve_mixed_fleet
from ...model.plan import Plan, Search, Start
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import offer
from ..igniter import hosted, placed_on_each, within_limits
from .answers import NAME, bound_of, none_found, slice_prices, without
from .of_shared_sets import solve_shared_sets
from .refused_capacity import not_shared_capacity


def plan_shared(resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
    """Returns the cheapest plan, no dearer than those of iGniter's rules."""
    deadline = time.monotonic() + time_limit_s

    def offered(first: FleetAnswer) -> None:
        search = partial(Search, time_limit_s=time_limit_s, solver=first.solver)
        offer(lambda stopped: _of_fleet(resolved, first, search(stopped=stopped)))

    known = within_limits(resolved, placed_on_each(resolved))
    answer = solve_mixed_fleet(resolved, hosted, known, start=start, on_answer=offered, time_limit_s=time_limit_s)
    if answer.gpus is None and answer.stopped == StopReason.GAP_LEFT and _are_too_few(resolved, deadline):
        answer = replace(answer, stopped=StopReason.INFEASIBLE)
    search = Search(stopped=answer.stopped, time_limit_s=time_limit_s, solver=answer.solver)
    if answer.gpus is None and answer.stopped != StopReason.TIME_LIMIT:
        bound = bound_of(resolved, answer.cost_bound, answer.method)
        return without(resolved, search, deadline, placed_on_each(resolved), bound)
    return _of_fleet(resolved, answer, search)


def _are_too_few(resolved: ResolvedProblem, deadline: float) -> bool:
    """Tells whether it is proven that the GPUs that there are do not carry the rates, where that can be looked for."""
    from ...exact.shared_capacity.impossible import is_impossible

    counted = all(entry.available is not None for entry in resolved.fleet)
    return counted and not any(not_shared_capacity(resolved)) and is_impossible(resolved, deadline=deadline)


def plan_shared_for_sets(resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
    """Returns the cheapest plan found where what a service's partitions carry together is no sum."""
    deadline = time.monotonic() + time_limit_s
    points, answer = solve_shared_sets(resolved, start, time_limit_s=time_limit_s)
    search = Search(stopped=answer.stopped, time_limit_s=time_limit_s, solver=answer.solver)
    if answer.stopped == StopReason.INFEASIBLE:
        return without(points, search, deadline)
    plan = _of_fleet(points, answer, search)
    return plan if plan.gpus or answer.stopped == StopReason.TIME_LIMIT else none_found(plan, resolved)


def _of_fleet(resolved: ResolvedProblem, answer: FleetAnswer, search: Search) -> Plan:
    bound = bound_of(resolved, answer.cost_bound, answer.method)
    if answer.gpus is None:
        return without_plan(resolved, (), planner=NAME, search=search, bound=bound)
    plan = assemble(resolved, answer.gpus, planner=NAME, bound=bound, search=search)
    found = answer.prices
    prices = None if found is None else slice_prices(resolved, found.data.sizes, found.priced.price, found.priced.rent)
    return plan.model_copy(update={"prices": prices})
