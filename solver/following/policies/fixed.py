"""The problem's own rates for ever: the plan as it is."""

from dataclasses import dataclass

from ...performance.interference.prediction import Floats
from .policy import Seen


@dataclass(frozen=True)
class Fixed:
    """Never plans anew."""

    name: str = "fixed"

    def begin(self, stated_rps: Floats, true_rps: Floats) -> Floats:  # noqa: ARG002 (nothing is looked at)
        """Returns the problem's rates (policy.py)."""
        return stated_rps

    def targets(self, seen: Seen) -> Floats | None:  # noqa: ARG002 (nothing is looked at)
        """Returns None (policy.py)."""
        return None
