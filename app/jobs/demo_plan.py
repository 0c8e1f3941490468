"""The demo's plan, worked out once when the server starts, so that the page opens with an answer."""

import threading
from functools import cache

from sliceplan.app.profiles.known import known_profiles
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem

from .jobs import shared_jobs

WAIT_S = 60.0

_known: list[Plan] = []


@cache
def demo() -> Problem:
    """Returns the problem that every new session begins with."""
    return next(iter(example_problems().values()))


def demo_plan() -> Plan | None:
    """Returns its plan; None: it is not there yet."""
    return _known[0] if _known else None


def plan_the_demo() -> None:
    """Begins to work it out, in a thread that waits for the worker."""
    threading.Thread(target=_plan, daemon=True).start()


def _plan() -> None:
    jobs = shared_jobs()
    plan = jobs.result(jobs.submit_solve("the page", demo(), profiles=known_profiles()), WAIT_S)
    if isinstance(plan, Plan):
        _known.append(plan)
