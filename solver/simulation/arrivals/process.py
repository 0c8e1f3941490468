"""What every kind of arrivals offers."""

from typing import Protocol

import numpy as np

from ...performance.interference.prediction import Floats


class ArrivalProcess(Protocol):
    """Requests of one service that come in a pattern, at whatever rate."""

    @property
    def name(self) -> str:
        """As on the command line: `gamma:2`."""

    @property
    def is_random(self) -> bool:
        """Whether another seed gives other arrivals."""

    def variability(self, gap_ms: float) -> float:
        """Returns the variance of the number of requests in a long time over its mean; Poisson: 1."""

    def times(self, random: np.random.Generator, gap_ms: float, until_ms: float) -> Floats:
        """
        Returns when the requests come that come before `until_ms`, ascending, in ms.

        Parameters
        ----------
        gap_ms
            Mean time between two requests.
        """
