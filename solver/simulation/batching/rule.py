"""
What a batching policy tells a server, as numbers, so that all servers are advanced at once (queues.py).

A free process sends a batch as soon as `least` requests wait or the oldest has waited `delay_ms`, whichever is first.
Of n that wait, at most the largest batch, it takes `sizes[n]`. A request that has waited more than `slack_ms` when a
process falls free is dropped.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from ...performance.interference.prediction import Ints


@dataclass(frozen=True, eq=False)
class BatchRule:
    """One server's rule."""

    least: int
    """1: a request is enough."""
    delay_ms: float
    """inf: a batch that is not full waits on."""
    sizes: Ints
    """Shape (batch + 1,): how many of n waiting requests are taken; sizes[0] = 0."""
    slack_ms: float = inf
    """inf: nothing is dropped."""


def all_waiting(batch: int) -> Ints:
    """Returns sizes of batches that take all that wait."""
    return np.arange(batch + 1)
