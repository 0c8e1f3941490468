"""
Least expected completion: a router that knows batch sizes and times, and what every server has before it.

A request is expected to complete after the rest of the first execution to end, the full batches ahead of it by turns of
all processes, and its own execution (percentiles of unequal partitions come close to one central queue's with it).
Where services take turns it waits for the next slot, and a round for each full batch ahead of it.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..queues import Queues, next_slot
from .dealing import ServerFacts


@dataclass(frozen=True)
class LeastExpected:
    """Reckons with full batches."""

    name: str = "least_expected"

    def costs(self, queues: Queues, among: Ints, servers: ServerFacts, now: Floats) -> Floats:
        """Returns what a request pays at each queue (dealing.py)."""
        waiting = queues.known[among] - queues.head[among]
        ahead = waiting // servers.batch
        rest = np.sort(np.maximum(queues.free_ms[among] - now[:, None], 0.0), axis=1)
        process = np.minimum(ahead % servers.processes, rest.shape[1] - 1)
        rounds = ahead // servers.processes + 1
        cost = rest[np.arange(len(among)), process] + rounds * servers.batch_ms
        if servers.round_ms.any():
            free = queues.free_ms[among].min(axis=1)  # of the only process
            slot = next_slot(np.maximum(free, now), servers.round_ms, servers.slot_ms)
            in_turn = slot - now + ahead * servers.round_ms + servers.after_ms + servers.batch_ms
            cost = np.where(servers.round_ms > 0, in_turn, cost)
        return np.where(servers.weight > 0, cost, np.inf)
