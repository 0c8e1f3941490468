"""
Whether queues can keep up: a server whose requests come as fast as it can serve them has a queue without end.

A queue before p processes with batches of at most b that take T each is stable if and only if the rate is below p b / T
(Loynes 1962, for any stationary arrivals; with slots every d it is b / d). At that very rate a queue with random
arrivals grows without end too, and one with even arrivals does not. Where neighbours that rest are simulated, T lies
between what a batch takes alone and beside all of them; so only a rate beyond what is served alone is called unstable,
and one beyond what is served beside all of them is not settled (neighbours/together.py). The simulation of an unstable
queue ends with its requests, and its figures say how long it ran, no more; so it is said beforehand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from .dispatch.dealing import Dealing, DealsAhead
from .server import Server
from .service import Service

EDGE = 1e-9
"""Relative difference of rate and capacity below which they are the same."""


@dataclass(frozen=True)
class Unstable:
    """A queue that grows without end."""

    since_s: float
    """When it begins to: 0, or when a GPU fails."""
    rate_rps: float
    """Requests that come from then on."""
    capacity_rps: float
    """Requests that are served at most."""
    where: str | None
    """GPU and partition; None: all of the service's together."""


def unstable(service: Service, dealing: Dealing) -> Unstable | None:
    """Returns the first moment from which a queue of a service grows without end, and the worst queue then."""
    limit = 1 - EDGE if service.arrivals.is_random or not isinstance(dealing, DealsAhead) else 1 + EDGE
    rate = 1000 / service.gap_ms
    settled_ms = max(service.there_from_ms)  # before, a queue that grows shrinks again when others come up
    for since_ms in sorted({settled_ms, *(end for end in service.ends_ms if settled_ms < end < inf)}):
        left = [server for server, end in zip(service.servers, service.ends_ms, strict=True) if end > since_ms]
        worst = max(
            demands(left, rate, dealing, at_rest=True), key=lambda one: one.load, default=Demand(rate, 0.0, None)
        )
        if worst.load >= limit:
            return Unstable(since_ms / 1000, worst.rate_rps, worst.capacity_rps, worst.where)
    return None


@dataclass(frozen=True)
class Demand:
    """What comes to one queue, or to all of a service where requests go where there is room."""

    rate_rps: float
    capacity_rps: float
    where: str | None

    @property
    def load(self) -> float:
        """Rate over capacity."""
        return self.rate_rps / self.capacity_rps if self.capacity_rps > 0 else inf


def demands(servers: Sequence[Server], rate_rps: float, dealing: Dealing, *, at_rest: bool = False) -> Iterator[Demand]:
    """Yields what comes to the queues of a service, and what they serve; servers of weight 0 get nothing."""
    used = [server for server in servers if server.weight > 0]
    total = sum(server.weight for server in used)
    if not isinstance(dealing, DealsAhead):
        if used:
            yield Demand(
                rate_rps, sum(server.greatest_rps if at_rest else server.capacity_rps for server in used), None
            )
        return
    for server in used:
        where = f"{server.gpu} partition {server.partition}" if len(servers) > 1 else None
        capacity = server.greatest_rps if at_rest else server.capacity_rps
        yield Demand(rate_rps * server.weight / total, capacity, where)
