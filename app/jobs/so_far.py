"""
The best plan so far of a solve that goes on, as it travels from its worker to whoever looks.

The search names what it has (solver/runtime/interruption.py), a worker builds and verifies it beside the search and
sends it, and the job keeps the latest. Its figures are there to be read; the plan itself stays packed until a screen
shows it.
"""

import pickle
from dataclasses import dataclass
from functools import cached_property

from sliceplan.solver.model.judged import Judged, judged
from sliceplan.solver.model.plan import Plan


@dataclass(frozen=True, eq=False)
class SoFar:
    """A plan that holds, and that a search is still improving."""

    judged: Judged
    """By the objective of its problem."""
    seconds: float
    """Of the search, when it was found."""
    packed: bytes

    @cached_property
    def plan(self) -> Plan:
        """The plan, unpacked when it is first asked for."""
        plan: Plan = pickle.loads(self.packed)
        return plan


def so_far(plan: Plan) -> SoFar:
    """Returns a verified plan as it travels."""
    packed = pickle.dumps(plan, pickle.HIGHEST_PROTOCOL)
    return SoFar(judged(plan), plan.runtime_s, packed)
