"""The greatest rates of any period, each service's own, known in advance: what one plan for all of the time costs."""

from dataclasses import dataclass

from ...performance.interference.prediction import Floats
from .policy import Seen


@dataclass(frozen=True)
class Peak:
    """Plans once, for the worst."""

    name: str = "peak"

    def begin(self, stated_rps: Floats, true_rps: Floats) -> Floats:  # noqa: ARG002 (what is stated does not matter)
        """Returns the greatest rates (policy.py)."""
        greatest: Floats = true_rps.max(axis=0)
        return greatest

    def targets(self, seen: Seen) -> Floats | None:  # noqa: ARG002 (all is known from the beginning)
        """Returns None (policy.py)."""
        return None
