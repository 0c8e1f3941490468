"""Gamma-distributed gaps: smoother than Poisson with a coefficient of variation below 1, burstier above it."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from .renewal import renewal_times


@dataclass(frozen=True)
class Gamma:
    """Gaps of shape 1 / variation^2."""

    variation: float
    """Standard deviation of a gap over its mean."""
    is_random: bool = True

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"gamma:{self.variation:g}"

    def variability(self, gap_ms: float) -> float:  # noqa: ARG002 (the same at every rate)
        """Returns the variance of the number of requests in a long time over its mean (process.py)."""
        return self.variation**2

    def times(self, random: np.random.Generator, gap_ms: float, until_ms: float) -> Floats:
        """Returns the arrivals before `until_ms` (process.py)."""
        shape = self.variation**-2
        return renewal_times(lambda number: random.standard_gamma(shape, number) / shape, gap_ms, until_ms)
