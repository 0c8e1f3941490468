"""Poisson arrivals: requests of many users who do not know of each other."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from .renewal import renewal_times


@dataclass(frozen=True)
class Poisson:
    """Exponential gaps."""

    name: str = "poisson"
    is_random: bool = True

    def variability(self, gap_ms: float) -> float:  # noqa: ARG002 (the same at every rate)
        """Returns the variance of the number of requests in a long time over its mean (process.py)."""
        return 1.0

    def times(self, random: np.random.Generator, gap_ms: float, until_ms: float) -> Floats:
        """Returns the arrivals before `until_ms` (process.py)."""
        return renewal_times(random.standard_exponential, gap_ms, until_ms)
