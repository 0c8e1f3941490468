"""Rates that all grow by one factor, and what is known of such factors; needs no solver."""

from dataclasses import dataclass

from ..model.problem import Problem
from ..performance.resolve import ResolvedProblem
from ..performance.unservable import unservable
from .known_gpus import NOTHING, KnownGpus

LARGEST, SMALLEST = 1e6, 1e-6
"""Factors beyond which nothing is tried."""


@dataclass(frozen=True, eq=False)
class GrowthLimits:
    """A factor for which there is a plan, and one for which there is none; None: not found."""

    fits: float | None = None
    too_much: float | None = None
    gpus: KnownGpus = NOTHING
    """For the factor that fits."""


def short_of(resolved: ResolvedProblem, factor: float) -> str | None:
    """Returns a workload that its own limits keep from growing by a factor, whatever the GPUs; None: there is none."""
    found = unservable(resolved.at_rates(resolved.required_rps * factor))
    return found[0].workload if found else None


def scaled(problem: Problem, factor: float) -> Problem:
    """Returns the problem with all rates times a factor."""
    workloads = tuple(w.model_copy(update={"rate_rps": w.rate_rps * factor}) for w in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})
