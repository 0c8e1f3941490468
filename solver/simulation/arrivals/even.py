"""Evenly spaced arrivals: one sender with a clock."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from ...performance.interference.prediction import Floats


@dataclass(frozen=True)
class Even:
    """Equal gaps; the first request comes at 0."""

    name: str = "even"
    is_random: bool = False

    def variability(self, gap_ms: float) -> float:  # noqa: ARG002 (the same at every rate)
        """Returns the variance of the number of requests in a long time over its mean (process.py)."""
        return 0.0

    def times(self, random: np.random.Generator, gap_ms: float, until_ms: float) -> Floats:  # noqa: ARG002 (not random)
        """Returns the arrivals before `until_ms` (process.py)."""
        times: Floats = np.arange(ceil(until_ms / gap_ms) + 1, dtype=np.float64) * gap_ms
        return times[: np.searchsorted(times, until_ms, side="left")]
