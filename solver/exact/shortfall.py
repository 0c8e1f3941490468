"""
Why there are too few GPUs: which workloads cannot be served, and how many GPUs of which type would do.

    max   sum_w s_w            s_w in {0, 1}: workload w is served
    s.t.  the constraints of the cutting stock, with R_w s_w for R_w and min_w s_w for min_w

The answer names a largest set of workloads that the fleet does serve; the others are unserved. How many GPUs
would do is the cutting stock without counts.
"""

from collections import Counter

from ..model.plan import Unserved
from ..performance.resolve import ResolvedProblem
from .cutting_stock import most_served, solve_cutting_stock


def shortfall(resolved: ResolvedProblem, *, time_limit_s: float) -> list[Unserved]:
    """Returns the unserved workloads of a problem whose counts of GPUs are too small."""
    served = most_served(resolved, time_limit_s=time_limit_s)
    without_counts = solve_cutting_stock(resolved, time_limit_s=time_limit_s, counts=False)
    enough = "how many GPUs would do was not found within the time limit"
    if without_counts.patterns is not None:
        used: Counter[str] = Counter()
        for pattern, times in without_counts.patterns:
            used[pattern.gpu] += times
        would_do = " and ".join(f"{times} x {gpu}" for gpu, times in used.items())
        enough = f"{would_do} would do for all workloads"
    there_are = ", ".join(
        f"{entry.available} x {entry.gpu.name}" for entry in resolved.fleet if entry.available is not None
    )
    missing = [w for w, is_served in enumerate(served) if not is_served]
    reason = f"too few GPUs: beside the workloads that fit on {there_are} it has no place; {enough}"
    return [Unserved(workload=resolved.problem.workloads[w].name, reason=reason) for w in missing]
