"""
Batches that wait to fill up: NVIDIA Triton's dynamic batcher (Triton user guide, Batchers, Delayed Batching).

As soon as the requests that wait make a preferred size, a batch of the largest such size goes. If they do not, they
wait until the oldest has waited the maximum queue delay; then they go, however few they are. Without preferred sizes
the largest batch is the only one; without a delay only full batches go.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from ..server import Server
from .rule import BatchRule, all_waiting


@dataclass(frozen=True)
class Dynamic:
    """`dispatch_after_ms` of a plan; `max_queue_delay_microseconds` and `preferred_batch_size` of Triton."""

    delay_ms: float = inf
    preferred: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """As on the command line."""
        if self.delay_ms == inf:
            return "full"
        return f"delay:{self.delay_ms:g}" + (f":{','.join(map(str, self.preferred))}" if self.preferred else "")

    def rule(self, server: Server, slo_ms: float) -> BatchRule:  # noqa: ARG002 (the SLO does not matter)
        """Returns the rule for one server (policy.py); preferred sizes above its largest batch do not count."""
        preferred = np.array(sorted(size for size in self.preferred if size <= server.batch) or [server.batch])
        sizes = all_waiting(server.batch)
        enough = sizes >= preferred[0]
        sizes[enough] = preferred[np.searchsorted(preferred, sizes[enough], side="right") - 1]
        return BatchRule(least=int(preferred[0]), delay_ms=self.delay_ms, sizes=sizes)
