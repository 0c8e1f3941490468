"""What a worker is asked for by "What moving services would win"; the planners are loaded there only."""

from collections.abc import Sequence

from sliceplan.solver.model.defragmentation_report import DefragmentationReport
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

ALL_S = 20.0
"""Of all its searches together."""


def defragmented(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> DefragmentationReport:
    """Returns what few moves win; errors as `defragmentation` has them."""
    from sliceplan.solver.what_if.defragmentation import defragmentation

    return defragmentation(problem, plan, profiles=profiles, time_limit_s=ALL_S)
