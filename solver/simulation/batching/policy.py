"""What every batching policy offers."""

from typing import Protocol

from ..server import Server
from .rule import BatchRule


class BatchingPolicy(Protocol):
    """When a server sends which batch."""

    @property
    def name(self) -> str:
        """As on the command line: `delay:5`."""

    def rule(self, server: Server, slo_ms: float) -> BatchRule:
        """Returns the rule for one server of a service with that SLO."""
