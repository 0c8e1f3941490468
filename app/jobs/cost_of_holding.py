"""What a plan that holds costs, looked for a moment before anybody presses for it: most are proven within that."""

from collections.abc import Sequence

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

PURPOSE = "cost_of_holding"

MOST_S = 3.0
"""So long it may take a worker process that nobody asked for it."""

MOST_SERVICES = 500
"""Of more, a moment's search says too little."""


def limit_s(problem: Problem) -> float:
    """Returns the seconds that are spent on it."""
    return min(MOST_S, problem.settings.time_limit_s)


def cost_of_holding(problem: Problem, profiles: Sequence[Profile]) -> Plan:
    """Returns the best plan of a moment; `problem` states the promise that is to be kept."""
    from sliceplan.solver import api

    return api.solve(problem, profiles=profiles, time_limit_s=limit_s(problem))
