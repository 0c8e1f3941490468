"""A plan with what a row of a benchmark says of it."""

import time

from sliceplan.solver.api import solve


def planned(problem, planner, **known):
    """Returns a plan, the fewest GPUs that it proves ("?": none) and the CPU seconds that it took."""
    begun = time.process_time()
    plan = solve(problem, planner, **known)
    least = "?" if plan.bound is None else plan.bound.gpus
    return plan, least, time.process_time() - begun
