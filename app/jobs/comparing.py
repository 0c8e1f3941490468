"""What a worker is asked for by a comparison of planners."""

import math
from collections.abc import Sequence

from sliceplan.solver.comparison.rows import Comparison, Row
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

from .row_so_far import row_so_far

SEARCH_S = 5.0
"""So long a planner whose search has no end of its own is compared, if nobody says how long."""


def compared(
    problem: Problem,
    profiles: Sequence[Profile],
    planners: Sequence[str] | None,
    time_limit_s: float | None,
    at_hand: Sequence[Plan] = (),
) -> Comparison:
    """
    Returns the answers of all planners that know the problem's fleet; each row is told as it comes.

    `at_hand`: plans that are there already.
    """
    from sliceplan.solver import api
    from sliceplan.solver.runtime.progress import report, watcher

    looks = watcher()
    names, done = [name for name in api.planners_for(problem) if planners is None or name in planners], 0
    if not names:
        message = f"is of a kind that none of the chosen planners plans: {', '.join(planners or ())}"
        raise InputError([Finding(problem.name, "fleet", message)])

    def show(row: Row) -> None:
        nonlocal done
        done += 1
        report(f"{row.planner} {'is done' if isinstance(row, Plan) else 'failed'} ({done} of {len(names)})")
        if looks is not None:
            looks(row_so_far(row, done, len(names)))

    # Who says how long is answered as they say.
    search_s = SEARCH_S if time_limit_s is None else math.inf
    return api.compare(
        problem,
        names,
        profiles=profiles,
        time_limit_s=time_limit_s,
        search_s=search_s,
        at_hand=at_hand,
        on_row=show,
    )
