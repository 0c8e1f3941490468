"""What the very GPUs of a plan could carry, divided anew: how far all rates can grow, and the most in all."""

from collections.abc import Sequence

from sliceplan.solver.model.capacity_report import CapacityReport, HeadroomReport
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

MOST_S = 10.0


def room_to_grow(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> HeadroomReport:
    """Returns the factor on all rates that the GPUs which a plan rents still carry."""
    from sliceplan.solver import api

    return api.headroom(rented(problem, plan), profiles=profiles, time_limit_s=_limit_s(problem)).report


def most_carried(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> CapacityReport:
    """
    Returns the most requests/s that the GPUs which a plan rents could carry beyond the rates.

    A request/s counts as a part of what one GPU carries of its service alone, so that no light model takes all.
    """
    from sliceplan.solver import api

    return api.capacity(rented(problem, plan), weights="solo", profiles=profiles, time_limit_s=_limit_s(problem)).report


def rented(problem: Problem, plan: Plan) -> Problem:
    """Returns the problem with the GPUs of a plan as all that there are."""
    fleet = tuple(
        entry.model_copy(update={"count": sum(gpu.gpu == entry.gpu for gpu in plan.gpus), "nodes": None})
        for entry in problem.fleet
    )
    return problem.model_copy(update={"fleet": fleet})


def _limit_s(problem: Problem) -> float:
    return min(MOST_S, problem.settings.time_limit_s)
