"""
The best plan so far of a solve that goes on, as it travels from its worker to whoever looks.

The search names what it has (solver/runtime/interruption.py), a worker builds and verifies it beside the search and
sends it, and the job keeps the latest. Its figures are there to be read; the plan itself stays packed until a screen
shows it.
"""

import pickle
from dataclasses import dataclass
from functools import cached_property

from sliceplan.solver.model.plan import Plan


@dataclass(frozen=True, eq=False)
class SoFar:
    """A plan that holds, and that a search is still improving."""

    cost_per_hour: float | None
    """USD; None: a GPU type has no price."""
    bound_per_hour: float | None
    """Proven: no plan costs less; None: nothing is proven yet."""
    gap: float | None
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
    return SoFar(plan.cost_per_hour, plan.bound.cost_per_hour, plan.gap, plan.runtime_s, packed)
