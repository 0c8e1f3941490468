"""Arrivals that were recorded: they come as they came, once."""

from dataclasses import dataclass, field

import numpy as np

from ...performance.interference.prediction import Floats


@dataclass(frozen=True)
class Trace:
    """Recorded times, from 0 on."""

    at_ms: Floats = field(repr=False)
    """Shape (request,), ascending."""
    source: str
    """File that they are from."""
    is_random: bool = False

    @property
    def name(self) -> str:
        """As it is shown."""
        return f"trace {self.source}"

    @property
    def gap_ms(self) -> float:
        """Mean time between two requests; inf: there are less than two."""
        return float(self.at_ms[-1] - self.at_ms[0]) / (len(self.at_ms) - 1) if len(self.at_ms) > 1 else float("inf")

    def variability(self, gap_ms: float) -> float:  # noqa: ARG002 (the same at every rate)
        """Returns the variance of the number of requests in a long time over its mean (process.py)."""
        return 1.0

    def times(self, random: np.random.Generator, gap_ms: float, until_ms: float) -> Floats:  # noqa: ARG002 (not random)
        """Returns the requests with another mean gap, those before `until_ms` (process.py)."""
        scale = gap_ms / self.gap_ms if 0 < self.gap_ms < float("inf") else 1.0
        times = self.at_ms * scale
        return times[: np.searchsorted(times, until_ms, side="left")]
