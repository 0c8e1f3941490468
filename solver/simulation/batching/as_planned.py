"""As the plan says: a batch that is not full is held for `dispatch_after_ms` where it says so; else it goes at once."""

from dataclasses import dataclass

from ..server import Server
from .rule import BatchRule, all_waiting


@dataclass(frozen=True)
class AsPlanned:
    """Each server by itself."""

    name: str = "planned"

    def rule(self, server: Server, slo_ms: float) -> BatchRule:  # noqa: ARG002 (the SLO does not matter)
        """Returns the rule for one server (policy.py)."""
        least = server.batch if server.held_ms > 0 else 1
        return BatchRule(least=least, delay_ms=server.held_ms, sizes=all_waiting(server.batch))
