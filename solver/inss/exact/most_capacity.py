"""The most capacity: proven where all sets of models can be looked at, else the best that is found, and a limit."""

import time
from dataclasses import replace

from ...model.errors import Finding, InputError
from ...model.inss_problem import InssProblem
from ...performance.interference.prediction import Floats
from ..latency import Latencies
from .columns import by_columns
from .effort import Effort
from .partition import Exact, best_partition

MOST_PROVEN = 12
"""Models of which all sets are looked at: 3^12 pairs of sets, for each GPU."""

PROVING = 0.6
"""Part of the time for that; the rest is for a decision without a proof."""


def most_capacity(
    latencies: Latencies, rates_rps: Floats, effort: Effort, *, weights: Floats | None = None, spare: float = 1.0
) -> Exact | None:
    """
    Returns the best decision with the limit of all; None: proven, there is none. Arguments as of `by_columns`.

    Of few models a proof is looked for in the first part of the time; `Effort(inf)` has all the time that it takes.
    """
    proven, end = None, time.monotonic() + effort.seconds
    if len(rates_rps) <= MOST_PROVEN:
        (is_over,) = effort.parts(PROVING)
        proven = best_partition(latencies, rates_rps, weights=weights, spare=spare, is_over=is_over)
        if proven is None or proven.decision is not None:
            return proven
        effort = replace(effort, seconds=max(end - time.monotonic(), 0.0))
    found = by_columns(latencies, rates_rps, effort, weights=weights, spare=spare)
    if found is None or proven is None:
        return found
    return replace(found, limit=max(min(found.limit, proven.limit), found.value))


def refuse_unproven(problem: InssProblem, source: str, what: str) -> None:
    """Raises InputError if there are too many models for what takes an exact plan every ten seconds."""
    if len(problem.models) > MOST_PROVEN:
        message = f"has {len(problem.models):,} models; {what} takes exact plans, of at most {MOST_PROVEN} models"
        raise InputError([Finding(source, "models", message)])
