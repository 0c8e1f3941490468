"""
Batches that go as late as the SLO allows, as in Symphony (2024): over all partitions of a service, dealt centrally.

A batch goes when it is full, or when its oldest request has just time left to be executed with a full batch. A request
that has no such time left when a process falls free is dropped: Symphony drops it too, so that it takes no time from
those that can still be served. Where the SLO is shorter than one execution, nothing is in time: then batches go at once
and nothing is dropped. Symphony forms batches over all replicas of a model before it chooses one, which is one central
queue here (dispatch central); with any other dispatch each partition does so by itself. It knows which GPU takes which
batch when all of them are alike; of unlike ones the first that can start takes the batch.
"""

from dataclasses import dataclass
from math import inf

from ..server import Server
from .rule import BatchRule, all_waiting


@dataclass(frozen=True)
class Deferred:
    """As late as possible; late ones are dropped."""

    name: str = "deferred"

    def rule(self, server: Server, slo_ms: float) -> BatchRule:
        """Returns the rule for one server (policy.py)."""
        slack_ms = slo_ms - server.after_ms - float(server.batch_ms[-1])
        return BatchRule(
            least=server.batch,
            delay_ms=max(slack_ms, 0.0),
            sizes=all_waiting(server.batch),
            slack_ms=slack_ms if slack_ms >= 0 else inf,
        )
