"""Least cost on MIG, whole GPUs and cores where what a service's partitions carry together is no sum."""

from ...exact.fleet.server_sets import SetAnswer, solve_for_sets
from ...exact.fleet.spare_fleet import SpareAnswer
from ...model.plan import Plan, Search, Start
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import offer
from .answers import none_found
from .kept_free import with_spares
from .of_cuts import of_cuts


def plan_for_sets(resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
    """Returns the cheapest plan found whose sets of partitions carry enough, and what is proven of all."""

    def assembled(found: SetAnswer, stopped: StopReason) -> Plan:
        search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=found.solved.answer.solver)
        if resolved.problem.settings.keeps_spares:
            return with_spares(found.points, SpareAnswer(found.solved.answer, found.solved.method), search)
        return of_cuts(found.points, found.solved, search)

    found = solve_for_sets(
        resolved,
        start=start,
        on_answer=lambda first: offer(lambda stopped: assembled(first, stopped)),
        time_limit_s=time_limit_s,
    )
    stopped = found.solved.answer.stopped
    plan = assembled(found, stopped)
    if plan.gpus or stopped == StopReason.TIME_LIMIT:
        return plan
    if stopped == StopReason.INFEASIBLE:
        return none_found(plan, resolved, "too few GPUs for all services, however requests are dealt")
    return none_found(plan, resolved)
