"""
Weighted round robin: by turns, as smoothly as the weights allow.

The m-th request of a server is due at (m - 1 + phase) / share; requests go in the order in which they are due (stride
scheduling, Waldspurger and Weihl 1995). Between servers of equal weights that is round robin. Phases follow the golden
ratio, from the greatest weight to the least, so that the turns of many small servers lie between those of a large one
and not beside each other.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints

GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class WeightedRoundRobin:
    """Weights are the plan's rates."""

    name: str = "weighted_round_robin"

    def deal(self, random: np.random.Generator, weights: Floats, number: int) -> Ints:  # noqa: ARG002 (not random)
        """Returns which server each request goes to (dealing.py)."""
        shares = weights / weights.sum()
        phases = np.empty(len(shares))
        phases[np.argsort(-shares, kind="stable")] = (0.5 + GOLDEN * np.arange(len(shares))) % 1
        turns = np.where(shares > 0, np.ceil(shares * number) + 2, 0).astype(np.int64)
        while True:
            server = np.repeat(np.arange(len(shares)), turns)
            turn = np.arange(len(server)) - np.repeat(np.cumsum(turns) - turns, turns)
            due = (turn + phases[server]) / shares[server]
            order = np.argsort(due, kind="stable")[:number]
            dealt = server[order]
            if not number or due[order[-1]] < ((turns + phases)[shares > 0] / shares[shares > 0]).min():
                return dealt
            turns = np.where(shares > 0, 2 * turns, 0)  # some server had further turns before the last one
