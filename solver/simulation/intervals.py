"""
Estimates with confidence intervals from sections: sectioning (Asmussen and Glynn 2007, Stochastic Simulation, III.5;
Nakayama 2014 for quantiles).

The estimate is that of all requests together. Its error is judged by how much the same figure differs between n
sections: half width t(n - 1) sqrt(sum (figure - estimate)^2 / (n (n - 1))), t Student's quantile for 95 %. It is right
as far as sections are independent, and so long that their figures are about normal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt

import numpy as np
from scipy.special import stdtrit

from ..performance.interference.prediction import Floats

CONFIDENCE = 0.95

METHOD = "sectioning: the figure of all requests, its error by Student's t from how the sections differ, 95 %"


@dataclass(frozen=True)
class Estimate:
    """A figure and the interval that covers it with CONFIDENCE."""

    value: float
    """nan: there are no requests; inf: of a latency, so many are dropped."""
    low: float
    high: float
    """-inf, inf: there are less than two sections with requests, or a figure is infinite."""


def estimate(sections: Sequence[Floats], figure: Callable[[Floats], float], together: Floats) -> Estimate:
    """
    Returns a figure of all requests and its interval.

    Parameters
    ----------
    sections
        Latencies of each section, ms, in the order in which the figure takes them.
    together
        All of them.
    """
    if not together.size:
        return Estimate(np.nan, -inf, inf)
    value = figure(together)
    figures = np.array([figure(section) for section in sections if section.size])
    number = len(figures)
    if value == inf or number < 2 or not np.isfinite(figures).all():
        low = value if value == inf and (figures == inf).all() else -inf
        return Estimate(value, low, inf)
    half = float(stdtrit(number - 1, (1 + CONFIDENCE) / 2)) * sqrt(
        ((figures - value) ** 2).sum() / number / (number - 1)
    )
    return Estimate(value, value - half, value + half)


def in_place(latencies: Floats, shares: Sequence[float]) -> Floats:
    """Returns latencies in an order in which those of some quantiles are where `quantile` looks for them."""
    if not latencies.size:
        return latencies
    found: Floats = np.partition(latencies, sorted({_place(share, len(latencies)) for share in shares}))
    return found


def quantile(share: float) -> Callable[[Floats], float]:
    """
    Returns the figure that is the least latency which at least that share of the requests does not exceed.

    It takes latencies as `in_place` orders them, or ascending ones.
    """
    return lambda latencies: float(latencies[_place(share, len(latencies))])


def _place(share: float, number: int) -> int:
    return max(ceil(share * number - 1e-9) - 1, 0)


CLOCK_MS = 1e-6
"""A nanosecond: two times that differ by less are the same, up to the rounding of sums."""


def share_within(limit_ms: float) -> Callable[[Floats], float]:
    """Returns the figure that is the share of the requests whose latency is at most a limit; in any order."""
    return lambda latencies: int(np.count_nonzero(latencies <= limit_ms + CLOCK_MS)) / len(latencies)
