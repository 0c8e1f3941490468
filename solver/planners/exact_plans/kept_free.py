"""Least cost on MIG and whole GPUs with partitions that are kept free."""

import time
from functools import partial

from ...allocation.assembly import assemble, without_plan
from ...exact.fleet.spare_fleet import SpareAnswer, solve_with_spares
from ...exact.mig.decoding import alike_gpus
from ...exact.mig.spare_rules import spare_rules
from ...model.plan import Plan, Search, Start
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import offer
from .answers import NAME, bound_of, without


def plan_with_spares(resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
    """Returns the cheapest plan with the free partitions that the settings ask for."""
    deadline = time.monotonic() + time_limit_s
    rules = spare_rules(resolved.problem.settings)
    assert rules is not None  # such problems come here

    def offered(first: SpareAnswer) -> None:
        search = partial(Search, time_limit_s=time_limit_s, solver=first.answer.solver)
        offer(lambda stopped: with_spares(resolved, first, search(stopped=stopped)))

    solved = solve_with_spares(resolved, rules, start=start, on_answer=offered, time_limit_s=time_limit_s)
    search = Search(stopped=solved.answer.stopped, time_limit_s=time_limit_s, solver=solved.answer.solver)
    if solved.answer.stopped == StopReason.INFEASIBLE:
        return without(resolved, search, deadline)
    return with_spares(resolved, solved, search)


def with_spares(resolved: ResolvedProblem, solved: SpareAnswer, search: Search) -> Plan:
    """Returns the plan that was found with its free partitions, or that there is none yet, with its bound."""
    answer = solved.answer
    bound = bound_of(resolved, answer.cost_bound, solved.method)
    if answer.patterns is None or answer.partitions is None or answer.spares is None:
        return without_plan(resolved, (), planner=NAME, search=search, bound=bound)
    gpus = alike_gpus(resolved, answer.patterns, answer.partitions, answer.spares.free)
    return assemble(resolved, gpus, planner=NAME, bound=bound, search=search)
