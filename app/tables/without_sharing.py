"""What a problem costs if nothing is shared: the plan that people compare with in their heads."""

from sliceplan.app.profiles.known import known_profiles
from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.whole_gpu import WholeGpu

NO_LIMIT_S = 60.0
"""It takes its steps and stops, some 30 ms for 1,000 services."""


def without_sharing(problem: Problem) -> Plan | None:
    """
    Returns the plan with a whole GPU, or several, for each service.

    None: there is none, as where the fleet is shared by MPS alone, or where no single GPU type serves all of them.
    """
    try:
        plan = WholeGpu().plan(resolve(problem, known_profiles()), time_limit_s=NO_LIMIT_S)
    except SliceplanError:
        return None
    return plan if plan.status is Status.FEASIBLE and plan.cost_per_hour is not None else None
