"""The rates of each period, known in advance: what following could save if estimates were right and loading in time."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from .policy import Seen

SAME = 0.01
"""Relative difference below which rates are the same."""


@dataclass(frozen=True)
class Foreseen:
    """Plans for what will come."""

    name: str = "foreseen"

    def begin(self, stated_rps: Floats, true_rps: Floats) -> Floats:  # noqa: ARG002 (what is stated does not matter)
        """Returns the greatest rates of the two periods that the first plan serves (policy.py)."""
        greatest: Floats = true_rps[:2].max(axis=0)
        return greatest

    def targets(self, seen: Seen) -> Floats | None:
        """Returns the rates of the period that the plan will serve, unless they are those planned for (policy.py)."""
        changes = np.abs(seen.served_rps - seen.planned_rps) > SAME * seen.planned_rps
        return seen.served_rps if changes.any() else None
