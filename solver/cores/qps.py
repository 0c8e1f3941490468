"""
How many queries/s a scheduler carries: the greatest rate at which enough of a trace's queries are in time.

The gaps of a trace are one vector of exponentials, divided by the rate, and the models are drawn once: common random
numbers, so that schedulers and rates differ by what they do, not by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .chain import Floats, Ints
from .greatest_rate import CLOSE, greatest_rate
from .offline_bound import LeastWork, most_in_time
from .runtimes.timetable import Trace
from .schedulers.scheduler import Runtime

PROGRAMS = 12
"""Linear programs for each crowd of queries whose windows hang together: more of them lower the bound little."""

CLEAR = 0.03
"""Share of queries beyond the wanted one from which on counting them whole is not tried: it takes fewer from them."""

ROUNDED = 1e-9
"""What a share of whole queries may differ by from the one that is meant."""


@dataclass(frozen=True)
class Draw:
    """Poisson arrivals whose rate is still open."""

    seed: int
    queries: int
    shares: Sequence[float]
    """Of each model in all queries; their sum is 1."""

    @cached_property
    def _drawn(self) -> tuple[Floats, Ints]:
        random = np.random.default_rng(self.seed)
        come = random.exponential(size=self.queries).cumsum() * 1000
        model = np.searchsorted(np.cumsum(self.shares)[:-1], random.random(self.queries), side="right")
        return come, model

    def arrivals_ms(self, rate_rps: float) -> Floats:
        """Returns when the queries come at a rate."""
        return self._drawn[0] / rate_rps

    @property
    def model(self) -> Ints:
        """Shape (query,)."""
        return self._drawn[1]

    def trace(self, rate_rps: float) -> Trace:
        """Returns the trace at a rate."""
        return Trace(self.arrivals_ms(rate_rps).tolist(), self.model.tolist())


def carried_rps(runtime: Runtime, draw: Draw, quantile: float = 0.95) -> float:
    """Returns the greatest rate, queries/s, at which a share `quantile` of a draw's queries is in time; 0: none."""
    most_late = int((1 - quantile) * draw.queries + 1e-9)
    return greatest_rate(lambda rate: runtime(draw.trace(rate), most_late=most_late) is not None)


def offline_rps(
    work: Sequence[LeastWork], draw: Draw, cores: int, quantile: float = 0.95, programs: int = PROGRAMS
) -> float:
    """
    Returns a rate, queries/s, from which on no runtime has that share of a draw's queries in time; 0: from 1 on none.

    That is proven at a rate at most this one, with which the bisection ended; from there on it is assumed.

    Parameters
    ----------
    programs
        As of `most_in_time`.
    """

    def may_hold(rate: float) -> bool:
        arrivals = draw.arrivals_ms(rate)
        in_parts = most_in_time(arrivals, draw.model, work, cores)  # quick, and says enough of most rates
        if not quantile <= in_parts <= quantile + CLEAR:
            return in_parts >= quantile
        return most_in_time(arrivals, draw.model, work, cores, programs) >= quantile - ROUNDED

    return CLOSE * greatest_rate(may_hold)
