"""How far all rates can grow on the very GPUs of a plan."""

from collections.abc import Sequence

from sliceplan.solver.model.capacity_report import HeadroomReport
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

MOST_S = 10.0


def room_to_grow(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> HeadroomReport:
    """Returns the factor on all rates that the GPUs which a plan rents still carry, divided anew if need be."""
    from sliceplan.solver import api

    fleet = tuple(
        entry.model_copy(update={"count": sum(gpu.gpu == entry.gpu for gpu in plan.gpus), "nodes": None})
        for entry in problem.fleet
    )
    rented = problem.model_copy(update={"fleet": fleet})
    limit = min(MOST_S, problem.settings.time_limit_s)
    return api.headroom(rented, profiles=profiles, time_limit_s=limit).report
