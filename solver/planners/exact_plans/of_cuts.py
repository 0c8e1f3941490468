"""Least cost on MIG, whole GPUs and cores."""

import time
from functools import partial

from ...allocation.assembly import assemble, without_plan
from ...exact.fleet.decomposition import DecomposedAnswer, solve_by_prices
from ...exact.mig.decoding import alike_gpus
from ...model.plan import Plan, Search, Start
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import offer
from .answers import NAME, bound_of, prices_of, without


def plan_cuts(resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
    """Returns the cheapest plan; every service's partitions carry what they add up to."""
    deadline = time.monotonic() + time_limit_s

    def offered(first: DecomposedAnswer) -> None:
        search = partial(Search, time_limit_s=time_limit_s, solver=first.answer.solver)
        offer(lambda stopped: of_cuts(resolved, first, search(stopped=stopped)))

    solved = solve_by_prices(resolved, start=start, on_answer=offered, time_limit_s=time_limit_s)
    search = Search(stopped=solved.answer.stopped, time_limit_s=time_limit_s, solver=solved.answer.solver)
    if solved.answer.stopped == StopReason.INFEASIBLE:
        return without(resolved, search, deadline)
    return of_cuts(resolved, solved, search)


def of_cuts(resolved: ResolvedProblem, solved: DecomposedAnswer, search: Search) -> Plan:
    """Returns the plan that was found, or that there is none yet, with its bound and prices."""
    answer = solved.answer
    bound = bound_of(resolved, answer.cost_bound, solved.method)
    if answer.patterns is None or answer.partitions is None:
        return without_plan(resolved, (), planner=NAME, search=search, bound=bound)
    gpus = alike_gpus(resolved, answer.patterns, answer.partitions)
    plan = assemble(resolved, gpus, planner=NAME, bound=bound, search=search)
    return plan.model_copy(update={"prices": prices_of(resolved, solved.price, solved.rent, {})})
