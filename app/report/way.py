"""The way to a plan from the one that runs today, worked out where the solvers are."""

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.transition import Transition


def way_between(running: Plan, plan: Plan) -> Transition:
    """Returns the steps; for a worker process, as it loads the solvers. Raises InputError as `moving.transition`."""
    from sliceplan.solver.api import moving

    return moving.transition(running, plan, sources=("the plan that runs today", "this plan")).transition
