"""What a fleet costs with GPU types of which no profile speaks, once their speeds are estimated."""

from collections.abc import Sequence

from sliceplan.app.profiles.estimating import asked_of, estimates, in_words, missing, sharing_for
from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

from .remedy import Remedy

TRIAL_S = 4.0


def with_estimates(problem: Problem, gpus: Sequence[str], profiles: Sequence[Profile]) -> tuple[Remedy, ...]:
    """
    Returns, for each of these GPU types, the problem with the speeds of its models estimated there, and its plan.

    A type of which nothing can be estimated, or with which no plan was found in time, is left out.
    """
    found = (_with(problem, gpu, [*profiles, *problem.profiles]) for gpu in gpus)
    return tuple(way for way in found if way is not None)


def _with(problem: Problem, gpu: str, profiles: Sequence[Profile]) -> Remedy | None:
    from sliceplan.solver import api

    made = estimates(gpu, missing(asked_of(problem), profiles).get(gpu, []), profiles)
    if not made:
        return None
    fleet = tuple(
        entry.model_copy(update={"sharing": sharing_for(entry.sharing, made)}) if entry.gpu == gpu else entry
        for entry in problem.fleet
    )
    changed = problem.model_copy(update={"fleet": fleet, "profiles": (*problem.profiles, *made)})
    try:
        limit_s = min(TRIAL_S, problem.settings.time_limit_s)
        plan = api.solve(changed, profiles=profiles, time_limit_s=limit_s)
    except SliceplanError:
        return None
    if not plan.gpus or plan.unserved or plan.violations:
        return None
    return Remedy(in_words(gpu, made), changed, plan)
