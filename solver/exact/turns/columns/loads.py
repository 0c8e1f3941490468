"""
How full services make a partition on which they take turns.

Of a round of d ms service w takes l_w(d): the shortest turn that carries all it needs in rounds that long, in time. A
set S of services has a round of at most d ms if sum_{w in S} l_w(d) <= d, as turns that are in time in a round are so
in every shorter one (turn_rule.py). So it has one if its load

    min over d of  sum_{w in S} l_w(d) / d

is at most 1; a greater load says by how much services are too many. The lengths d are the longest that each service
bears, no more than LENGTHS of them: at others a set may fit that has a load above 1 here.
"""

from collections.abc import Sequence

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.turns.turn_rule import TOLERANCE
from .slots import Slots

NEVER = 1e3
"""The part of a round that a service takes in which it is not in time: finite, so that sums can be taken back."""

LENGTHS = 1_000
"""Of rounds that are looked at on each size of partition."""


class RoundLoads:
    """
    What services take of rounds on partitions of one size.

    Parameters
    ----------
    bears_ms
        How long rounds may be in which a turn carries all of a service, shape (service, option); 0: none.
    """

    def __init__(self, slots: Slots, bears_ms: Floats) -> None:
        self._latency_ms, self._bears_ms = slots.latency_ms, bears_ms
        lengths = np.unique(bears_ms.max(axis=1, initial=0.0))
        lengths = lengths[lengths > 0]
        if lengths.size > LENGTHS:
            lengths = lengths[np.linspace(0, lengths.size - 1, LENGTHS).round().astype(np.int64)]
        self.ms: Floats = lengths * (1 - TOLERANCE)
        """Shape (length,): of rounds, ascending."""
        self.parts: Floats = np.array([self._parts(w) for w in range(len(bears_ms))]).reshape(
            len(bears_ms), lengths.size
        )
        """Shape (service, length): of a round."""

    def options(self, services: Sequence[int], length: int) -> Ints:
        """Returns the turns of services in rounds of the length with an index, as indices of their batches."""
        who = list(services)
        in_time = self._bears_ms[who] >= self.ms[length]
        return np.asarray(np.where(in_time, self._latency_ms[who], np.inf).argmin(axis=1))

    def _parts(self, w: int) -> Floats:
        """Returns what a service takes of rounds of all lengths, NEVER where it is not in time."""
        order = np.argsort(self._latency_ms[w], kind="stable")
        bears = np.maximum.accumulate(self._bears_ms[w, order])
        takes = np.append(self._latency_ms[w, order], np.inf)[np.searchsorted(bears, self.ms)]
        return np.where(takes <= self.ms, takes / self.ms, NEVER)
