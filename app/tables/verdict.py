"""What an answer is, in a few words that nobody takes for another: success looks like one only where it is."""

from typing import Literal

from sliceplan.app.profiles.known import known_profiles
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.stop_reason import StopReason

Colour = Literal["green", "blue", "orange", "red"]

ENDED_EARLY = (StopReason.TIME_LIMIT, StopReason.INTERRUPTED)


def verdict(plan: Plan) -> tuple[str, Colour]:
    """Returns the words and their colour: green for what is proven, blue for what holds, else orange or red."""
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


def uncovered(problem: Problem) -> list[str]:
    """Returns the GPU types of a fleet on which no speed of any of its services' models is known, in their order."""
    models = {workload.model for workload in problem.workloads}
    known = {profile.gpu for profile in (*known_profiles(), *problem.profiles) if profile.model in models}
    return [entry.gpu for entry in problem.fleet if entry.gpu not in known]
