"""The most capacity: proven where all sets of models can be looked at, else the best that is found, and a limit."""

from ...model.errors import Finding, InputError
from ...model.inss_problem import InssProblem
from ...performance.interference.prediction import Floats
from ..latency import Latencies
from .columns import by_columns
from .effort import Effort
from .partition import Exact, best_partition

MOST_PROVEN = 12
"""Models of which all sets are looked at: 3^12 pairs of sets, for each GPU."""


def most_capacity(
    latencies: Latencies, rates_rps: Floats, effort: Effort, *, weights: Floats | None = None, spare: float = 1.0
) -> Exact | None:
    """Returns the best decision with the limit of all; None: proven, there is none. Arguments as of `by_columns`."""
    if len(rates_rps) <= MOST_PROVEN:
        return best_partition(latencies, rates_rps, weights=weights, spare=spare)
    return by_columns(latencies, rates_rps, effort, weights=weights, spare=spare)


def refuse_unproven(problem: InssProblem, source: str, what: str) -> None:
    """Raises InputError if there are too many models for what takes an exact plan every ten seconds."""
    if len(problem.models) > MOST_PROVEN:
        message = f"has {len(problem.models):,} models; {what} takes exact plans, of at most {MOST_PROVEN} models"
        raise InputError([Finding(source, "models", message)])
