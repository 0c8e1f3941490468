"""
gpu-lets' rule (Choi et al., USENIX ATC 2022, section 4.6, with the constants of its published source).

A service is planned for 1.2 times its estimate, below 125 requests/s for 1.5 times. All are planned anew when that
rises by more than 5 % or by more than 10 requests/s above what a service is planned for, or falls by more than 10 %
below it. gpu-lets first tries to place what has grown and keeps the rest; here every plan is made as a whole.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from .policy import Seen

SMALL_RPS = 125.0
MARGIN, MARGIN_OF_SMALL = 1.2, 1.5
RISE, RISE_RPS, FALL = 0.05, 10.0, 0.10


@dataclass(frozen=True)
class GpuLets:
    """Follows estimates with a margin."""

    name: str = "gpulets"

    def begin(self, stated_rps: Floats, true_rps: Floats) -> Floats:  # noqa: ARG002 (nobody knows what will come)
        """Returns the problem's rates with the margin (policy.py)."""
        return _with_margin(stated_rps)

    def targets(self, seen: Seen) -> Floats | None:
        """Returns the estimates with the margin where one of them has moved (policy.py)."""
        new, old = _with_margin(seen.estimate_rps), seen.planned_rps
        rises = (new > (1 + RISE) * old) | (new > old + RISE_RPS)
        falls = new < (1 - FALL) * old
        return new if (rises | falls).any() else None


def _with_margin(rps: Floats) -> Floats:
    """Returns rates with gpu-lets' margin."""
    return np.where(rps < SMALL_RPS, MARGIN_OF_SMALL, MARGIN) * rps
