"""`exact`: the optimum, with proof (solver/inss/exact)."""

from ..decision import Decision
from ..exact.partition import best_partition
from .scheduler import Scheduler, Task


def exact(task: Task) -> Decision | None:
    """Returns the best decision; None: proven, there is none that keeps all limits."""
    found = best_partition(task.latencies, task.rates_rps, weights=task.weights, spare=task.spare)
    return None if found is None else found.decision


EXACT = Scheduler("exact", "most capacity, proven", exact)
