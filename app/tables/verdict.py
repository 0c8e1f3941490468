"""What an answer is, in a few words that nobody takes for another: success looks like one only where it is."""

from collections.abc import Sequence
from typing import Literal

from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.stop_reason import StopReason

Colour = Literal["green", "blue", "orange", "red"]

ENDED_EARLY = (StopReason.TIME_LIMIT, StopReason.INTERRUPTED)


def verdict(plan: Plan, left_out: Sequence[str] = ()) -> tuple[str, Colour]:
    """
    Returns the words and their colour: green for what is proven, blue for what holds, else orange or red.

    Parameters
    ----------
    left_out
        GPU types that the plan could not count on (`uncovered`): with them a better one may exist: that is not green.
    """
    words, colour = _verdict(plan)
    if left_out and colour in ("green", "blue"):
        return f"{words}, but {' and '.join(left_out)} left out", "orange"
    return words, colour


def _verdict(plan: Plan) -> tuple[str, Colour]:
    match plan.status:
        case Status.INFEASIBLE:
            return "No plan exists", "red"
        case Status.VIOLATING:
            return "Does not hold", "red"
        case Status.NONE_FOUND:
            return "No plan found", "orange"
        case Status.REFUSED:
            return "Not taken by this planner", "orange"
        case Status.TIMEOUT:
            return "Time limit, no plan yet", "orange"
        case Status.OPTIMAL:
            return f"Proven {judged(plan).objective.best}", "green"
    if plan.search.stopped in ENDED_EARLY:
        return f"Holds; ended before it was proven {judged(plan).objective.best}", "orange"
    return "Holds", "blue"
