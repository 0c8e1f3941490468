"""
Bursts: a Poisson process whose rate changes between two values at random times (a Markov-modulated Poisson process).

Both states last for exponential times. By the time change theorem the arrivals are those of a Poisson process of rate 1
in the time that runs as fast as the rate is at the moment; so they are drawn there and carried back.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from .renewal import renewal_times


@dataclass(frozen=True)
class Bursts:
    """A share of the time the rate is `factor` times its mean; else it is what makes the mean right."""

    factor: float
    share: float
    """Part of the time that is in bursts; factor * share <= 1."""
    length_ms: float
    """Mean length of a burst."""
    is_random: bool = True

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"bursts:{self.factor:g},{self.share:g},{self.length_ms / 1000:g}"

    def variability(self, gap_ms: float) -> float:
        """
        Returns the variance of the number of requests in a long time over its mean (process.py).

        1 + 2 (variance of the rate) (time in which it is forgotten) / (mean rate); two states are forgotten in the
        inverse of their rates of change added up.
        """
        quiet = (1 - self.factor * self.share) / (1 - self.share)
        variance = self.share * (1 - self.share) * ((self.factor - quiet) / gap_ms) ** 2
        return 1 + 2 * variance * self.length_ms * (1 - self.share) * gap_ms

    def times(self, random: np.random.Generator, gap_ms: float, until_ms: float) -> Floats:
        """Returns the arrivals before `until_ms` (process.py)."""
        ends, in_burst = self._states(random, until_ms)
        quiet = (1 - self.factor * self.share) / (1 - self.share)
        borders = np.concatenate([[0.0], ends])
        clock = np.concatenate([[0.0], np.cumsum(np.diff(borders) * np.where(in_burst, self.factor, quiet))])
        drawn = renewal_times(random.standard_exponential, gap_ms, float(clock[-1])) if clock[-1] > 0 else np.empty(0)
        # In a state of rate 0 the clock stands still and no arrival falls into it.
        times: Floats = np.interp(drawn, clock, borders)
        return times

    def _states(self, random: np.random.Generator, until_ms: float) -> tuple[Floats, np.ndarray]:
        """Returns the ends of the states, the last of them cut at `until_ms`, and which of them are bursts."""
        lengths: list[Floats] = []
        begins_in_burst = random.random() < self.share
        pair = np.array([self.length_ms, self.length_ms * (1 - self.share) / self.share])
        pair = pair if begins_in_burst else pair[::-1]
        total = 0.0
        while total < until_ms:
            pairs = int((until_ms - total) / pair.sum() * 1.1) + 8
            drawn = (random.standard_exponential((pairs, 2)) * pair).ravel()
            lengths.append(drawn)
            total += float(drawn.sum())
        ends = np.cumsum(np.concatenate(lengths))
        number = int(np.searchsorted(ends, until_ms)) + 1
        ends = ends[:number].copy()
        ends[-1] = until_ms
        return ends, (np.arange(number) % 2 == 0) == begins_in_burst

    def changes(self, until_ms: float) -> float:
        """Returns how often the state changes in that time, on average."""
        return 2 * until_ms * self.share / self.length_ms
