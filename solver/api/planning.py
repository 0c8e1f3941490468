"""
The library's front door: solve one problem, or put all planners side by side.

Within `interruption.interruptible_by(event)` every search here ends with its best answer so far when the event is set.

A time limit counts from the call. It holds for all that the call searches; whatever does not keep it is given up
(interruption.py). The answer is then built and verified, which for 2,000 services takes a few tenths of a second.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..model.plan import Plan, Start
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.proving import proving_planner
from ..planners import registry
from .running import OnPlan, planned
from .task import task_of


def solve(
    problem: Problem,
    planner: str | None = None,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    start: Start = None,
    on_plan: OnPlan | None = None,
    source: str | None = None,
) -> Plan:
    """
    Returns the plan of one planner, verified.

    Parameters
    ----------
    planner
        None: the one that proves problems of this kind (model/proving.py).
    profiles
        None: the shipped ones. A later profile wins over an earlier one of the same model and GPU.
    time_limit_s
        None: the problem's own limit.
    gap
        With which an exact search ends, as a fraction of its bound; None: the problem's own.
    start
        A plan of a similar problem, or its slice prices. They are where the search begins; they change the time that it
        takes, and which of the cheapest plans it finds, and not what is proven.
    on_plan
        Called with the best plan so far, verified, while the search goes on and finds better ones or proves more: what
        the answer would be if it were ended then (`stopped` is "interrupted"). The answer itself is returned only.
        Making them takes some of the search's time; None: they are not made.
    source
        Where the problem comes from, for error messages; None: its name.

    Raises
    ------
    InputError
        If the problem refers to something unknown.
    WrongPlanError
        If the plan does not hold.
    """
    task = replace(task_of(problem, profiles, time_limit_s, source, gap), start=start)
    return planned(task, registry.planner_named(planner or proving_planner(problem)), on_plan=on_plan)
