"""
One queue for all of a service's partitions: a process that falls free takes the next batch, of its own size.

Nothing is dealt: requests wait together (central.py). Of processes that are free at once the one with the shortest
batches is first, then the one with the largest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..server import Server


@dataclass(frozen=True)
class Central:
    """As a message queue from which servers pull."""

    name: str = "central"

    def order(self, servers: Sequence[Server]) -> list[int]:
        """Returns which server each process of a service is of, in the order in which free ones are asked."""
        ranked = sorted(
            (i for i in range(len(servers)) if servers[i].weight > 0),
            key=lambda i: (float(servers[i].batch_ms[-1]), -servers[i].batch),
        )
        return [i for i in ranked for _ in range(servers[i].processes)]
