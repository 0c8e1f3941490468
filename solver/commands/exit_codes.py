"""How commands end; the command line's own text (cli.py) says it to its users."""

from collections.abc import Iterable
from enum import IntEnum

from ..model.plan import Plan, Status
from ..model.stop_reason import StopReason


class Exit(IntEnum):
    """Exit codes of `sliceplan`."""

    DONE = 0
    NO_PLAN = 1
    """No plan exists, which is proven; or the planner's does not hold."""
    WRONG_INPUT = 2
    LIMITED = 3
    """A limit or an interruption ended the search, with a usable answer."""
    REFUSED = 4
    """The planner does not take the problem."""
    NO_ANSWER = 5
    """A limit or an interruption came before any answer."""
    NONE_FOUND = 6
    """The search is complete and found no plan, and nothing is proven."""
    FAILED = 7
    """Something in sliceplan failed, or two planners contradict each other."""


SAYS_MOST = (Exit.FAILED, Exit.DONE, Exit.LIMITED, Exit.NO_PLAN, Exit.NO_ANSWER, Exit.NONE_FOUND, Exit.REFUSED)
"""What several answers to one problem say together is what the first of these says."""

CODES: dict[str, Exit] = {
    "failed": Exit.FAILED,
    Status.INFEASIBLE: Exit.NO_PLAN,
    Status.VIOLATING: Exit.NO_PLAN,
    Status.REFUSED: Exit.REFUSED,
    Status.TIMEOUT: Exit.NO_ANSWER,
    Status.NONE_FOUND: Exit.NONE_FOUND,
}


def exit_code(plan: Plan) -> Exit:
    """Returns the exit code for a plan."""
    return code_of(plan.status, plan.search.stopped)


def code_of(status: str, stopped: str | None) -> Exit:
    """Returns the exit code for a Status, or `failed`; `stopped`: why the search ended."""
    limited = stopped in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED)
    return CODES.get(status, Exit.LIMITED if limited else Exit.DONE)


def best_of(codes: Iterable[Exit]) -> Exit:
    """Returns the exit code for several answers to one problem."""
    return min(codes, key=SAYS_MOST.index)
