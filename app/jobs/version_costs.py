"""What a worker is asked for by "Work out what they cost": the versions of a problem of which no plan is saved."""

from collections.abc import Sequence

from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

EACH_S = 3.0
"""For each version; what is proven by then or not, the best plan so far has a cost."""


def version_costs(asked: Sequence[tuple[str, Problem, Sequence[Profile]]]) -> dict[str, tuple[float, int]]:
    """
    Plans versions anew; returns USD per hour and GPUs by digest, without what has no plan.

    `asked`: digest, problem, and the profiles that it uses.
    """
    from sliceplan.solver.api import solve

    found = {}
    for digest, problem, profiles in asked:
        try:
            plan = solve(problem, profiles=profiles, time_limit_s=EACH_S)
        except InputError:
            continue
        if plan.gpus and plan.cost_per_hour is not None:
            found[digest] = (plan.cost_per_hour, plan.gpus_used)
    return found
