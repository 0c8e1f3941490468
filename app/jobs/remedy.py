"""A way out: a change of the problem that was tried, and the plan that it leads to."""

from dataclasses import dataclass

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem


@dataclass(frozen=True)
class Remedy:
    """A change of the problem, in words, and what comes of it."""

    words: str
    problem: Problem
    plan: Plan
