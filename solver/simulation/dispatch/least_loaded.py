"""Least loaded: to the server with the fewest requests in flight for its weight (Envoy's least request, weighted)."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..queues import Queues
from .dealing import ServerFacts


@dataclass(frozen=True)
class LeastLoaded:
    """Counts what waits and what is executed, the new request among them; servers of weight 0 get nothing."""

    name: str = "least_loaded"

    def costs(self, queues: Queues, among: Ints, servers: ServerFacts, now: Floats) -> Floats:
        """Returns what a request pays at each queue (dealing.py)."""
        load = queues.in_flight(among, now) + 1.0
        cost: Floats = np.divide(load, servers.weight, out=np.full(len(load), np.inf), where=servers.weight > 0)
        return cost
