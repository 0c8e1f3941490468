"""
Which part of a share's time a service takes for each part of its rate that it carries there.

By the rule of execution, with time_shares.py's y for the part of the rate and x for the part of the time. Let a batch
of b take l on the share, the SLO leave S for waiting and execution, and r be the rate.

    in a round of d      y = min(1, 1000 b / (d r)),  x = l / d,   l <= d,  d + l <= S, or 2 d <= S in any order
    alone, back to back  y = min(1, throughput / r),  x = 1,       l within the limit of a batch

With D = min(S - l, 1000 b / r), or min(S / 2, 1000 b / r) in any order, a round takes x >= y l / D, and there is none
unless 2 l <= S. Proof. Where d <= D, x / y >= x = l / d >= l / D. Else d is above 1000 b / r, as it is in time, so that
y = 1000 b / (d r) and x / y = l r / (1000 b) >= l / D, or it is above D = S - l (or S / 2) and not in time.

l / D rises with l, and max(1, r / throughput) falls as the throughput rises; so a lower limit of a latency and an upper
one of the throughput give lower limits of x / y.
"""

from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.turns.turn_rule import TOLERANCE

SAFE = 1 - 1e-6
"""What is needed is multiplied by, for SLOs that may be exceeded by rounding, and sums that are rounded."""


@dataclass(frozen=True, eq=False)
class Needs:
    """What services ask of rounds, and back to back; arrays have shape (service,)."""

    slo_ms: Floats
    """S."""
    limit_ms: Floats
    """What a batch may take back to back."""
    rate_rps: Floats
    slots_kept: bool

    def time_of(self, service: int, batch: Ints, latency_ms: Floats, throughput_rps: Floats) -> Floats:
        """Returns the least x / y of one service; inf: it cannot be in time. Arrays are broadcast."""
        slo_ms, rate = float(self.slo_ms[service]), float(self.rate_rps[service])
        left_ms = slo_ms - latency_ms if self.slots_kept else slo_ms / 2
        longest_ms = np.minimum(left_ms, 1000.0 * batch / rate)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            in_turn = np.where(2 * latency_ms <= slo_ms * (1 + TOLERANCE), latency_ms / longest_ms, np.inf)
            in_time = latency_ms <= float(self.limit_ms[service]) * (1 + TOLERANCE)
            alone = np.where(in_time, np.maximum(1.0, rate / throughput_rps), np.inf)
        return np.asarray(np.minimum(in_turn, alone) * SAFE)
