"""`exact`: the optimum, with proof (solver/inss/exact)."""

from ..decision import Decision
from ..exact.most_capacity import most_capacity
from .scheduler import Scheduler, Task


def exact(task: Task) -> Decision | None:
    """Returns the best decision; None: none was found that keeps all limits."""
    found = most_capacity(task.latencies, task.rates_rps, task.effort, weights=task.weights, spare=task.spare)
    return None if found is None else found.decision


EXACT = Scheduler("exact", "most capacity, with the limit of all", exact)
