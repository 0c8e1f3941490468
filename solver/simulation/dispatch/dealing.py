"""
What every way to deal requests offers: in advance, or by the state that a request finds.

Where dealing does not look at the queues, they are independent of each other, and each is advanced by itself. Where it
does, the queues of a service are advanced request by request (coupled.py). Or nothing is dealt, and all wait in one
queue (central.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..queues import Queues
from ..server import Server
from .central import Central


@runtime_checkable
class DealsAhead(Protocol):
    """Deals all requests of a service before the first comes."""

    @property
    def name(self) -> str:
        """As on the command line."""

    def deal(self, random: np.random.Generator, weights: Floats, number: int) -> Ints:
        """Returns which server each of so many requests goes to; `weights`: shape (server,), not all 0."""


class DealsByState(Protocol):
    """Deals each request by the state of the service's servers when it comes."""

    @property
    def name(self) -> str:
        """As on the command line."""

    def costs(self, queues: Queues, among: Ints, servers: "ServerFacts", now: Floats) -> Floats:
        """
        Returns what a request that comes now pays at each queue; it goes to the cheapest, the first of equal ones.

        Parameters
        ----------
        among
            Shape (queue,): queues of any services, all of them advanced up to now.
        servers
            Of those queues.
        now
            Shape (queue,): when the request comes that the queue may be given, in ms.
        """


Dealing = DealsAhead | DealsByState | Central


@dataclass(frozen=True, eq=False)
class ServerFacts:
    """What a router may know of the server behind each queue; shape (queue,)."""

    weight: Floats
    batch: Ints
    batch_ms: Floats
    """Time of a full batch."""
    processes: Ints
    round_ms: Floats
    """Time from one of its slots to the next; 0: no turns."""
    slot_ms: Floats
    """When its first slot begins."""
    after_ms: Floats
    """How long a batch that is closed waits for others of its round."""

    def of(self, among: Ints) -> "ServerFacts":
        """Returns those of some queues."""
        return ServerFacts(*(getattr(self, field.name)[among] for field in fields(self)))


def server_facts(servers: Sequence[Server]) -> ServerFacts:
    """Returns what a router may know of servers."""
    return ServerFacts(
        np.array([server.weight for server in servers]),
        np.array([server.batch for server in servers]),
        np.array([float(server.batch_ms[-1]) for server in servers]),
        np.array([server.processes for server in servers]),
        np.array([server.round_ms for server in servers]),
        np.array([server.slot_ms for server in servers]),
        np.array([server.after_ms for server in servers]),
    )
