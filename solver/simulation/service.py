"""One service with its servers, its arrivals and the time in which its requests are counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from zlib import crc32

import numpy as np

from ..performance.interference.prediction import Floats
from .arrivals.process import ArrivalProcess
from .server import Server


@dataclass(frozen=True, eq=False)
class Service:
    """One service, ready to be simulated."""

    name: str
    slo_ms: float
    gap_ms: float
    """Mean time between two of its requests."""
    arrivals: ArrivalProcess
    servers: Sequence[Server]
    ends_ms: Sequence[float]
    """When the GPU of each server fails; inf: it does not."""
    counted_from_ms: float
    until_ms: float
    runs: int
    """Replications; 1: recorded arrivals, which are divided into parts instead."""
    is_settled: bool
    """Whether the queues have forgotten that they began empty when counting begins (warm_up.py)."""
    quantile: float = 0.99
    """Share of its requests that must be in time."""
    begins_ms: Sequence[float] = ()
    """When each server is there; empty: all of them from the beginning."""

    @property
    def there_from_ms(self) -> Sequence[float]:
        """When each server is there."""
        return self.begins_ms or [0.0] * len(self.servers)

    @cached_property
    def counted_of_each_ms(self) -> Floats:
        """Shape (server,): how much of the time that is counted each server is there."""
        end, begin = np.minimum(self.ends_ms, self.until_ms), np.maximum(self.there_from_ms, self.counted_from_ms)
        return np.asarray(np.maximum(end - begin, 0.0))

    @cached_property
    def never_fails(self) -> bool:
        """Whether no server is lost."""
        return min(self.ends_ms) == inf

    @cached_property
    def key(self) -> int:
        """Number from which its random numbers follow, whatever other services there are."""
        return crc32(self.name.encode())

    @property
    def counted_requests(self) -> float:
        """Requests of one run that are counted, on average."""
        return (self.until_ms - self.counted_from_ms) / self.gap_ms

    @property
    def requests(self) -> float:
        """Requests of one run, on average."""
        return self.until_ms / self.gap_ms
