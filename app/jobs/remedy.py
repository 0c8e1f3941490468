"""A way out: a change of the problem that was tried, and the plan that it leads to."""

from dataclasses import dataclass

from sliceplan.solver.model.base import ServiceKey
from sliceplan.solver.model.naming import naming
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem


@dataclass(frozen=True)
class Remedy:
    """A change of the problem, in words, and what comes of it."""

    sentence: str
    """With SERVICES where services are named (solver/model/naming.py)."""
    problem: Problem
    plan: Plan
    named: tuple[ServiceKey, ...] = ()
    """The services that the sentence names."""

    @property
    def words(self) -> str:
        """The change, in words."""
        return naming(self.sentence, self.named)
