"""A free process takes what waits, at once (TorchServe with max_batch_delay 0, Triton without a queue delay)."""

from dataclasses import dataclass

from ..server import Server
from .rule import BatchRule, all_waiting


@dataclass(frozen=True)
class Greedy:
    """No request waits beside a free process."""

    name: str = "greedy"

    def rule(self, server: Server, slo_ms: float) -> BatchRule:  # noqa: ARG002 (the SLO does not matter)
        """Returns the rule for one server (policy.py)."""
        return BatchRule(least=1, delay_ms=0.0, sizes=all_waiting(server.batch))
