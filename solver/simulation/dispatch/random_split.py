"""Random dispatch: each request by itself, as many replicas behind a Kubernetes Service get their connections."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints


@dataclass(frozen=True)
class RandomSplit:
    """Chances in proportion to the plan's rates; Poisson arrivals stay Poisson at each server."""

    name: str = "random"

    def deal(self, random: np.random.Generator, weights: Floats, number: int) -> Ints:
        """Returns which server each request goes to (dealing.py)."""
        shares = np.cumsum(weights) / weights.sum()
        shares[-1] = 1.0
        dealt: Ints = np.searchsorted(shares, random.random(number), side="right")
        return dealt
