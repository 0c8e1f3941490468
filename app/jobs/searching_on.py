"""What a search that ended at its time limit finds with more time: tried, as nobody knows beforehand."""

from collections.abc import Sequence

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

LONGER = 5
"""Times as long as the search that ended."""

MOST_S = 60.0
"""So long it may take a worker process that nobody asked for it."""


def limit_s(problem: Problem) -> float:
    """Returns the seconds that a problem is searched on for."""
    return min(LONGER * problem.settings.time_limit_s, MOST_S)


def longer(problem: Problem, seconds: float) -> Problem:
    """Returns the problem with another time limit."""
    return problem.model_copy(update={"settings": problem.settings.model_copy(update={"time_limit_s": seconds})})


def searched_on(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> Plan:
    """Returns what `longer(problem, limit_s(problem))` comes to; the search begins at what the ended one knew."""
    from sliceplan.solver import api

    return api.solve(longer(problem, limit_s(problem)), profiles=profiles, start=plan)
