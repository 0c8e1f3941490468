"""
Into how many replications a run is divided, and how long each warms up: it begins with empty queues.

A queue near its capacity forgets its beginning at the speed of a reflected Brownian motion with the same drift and
variance (heavy traffic: Whitt 1989, Planning queueing simulations, Management Science 35(11), section 4): in the time
2 v / (C - r)^2, with capacity C, rate r, and v the variance of the requests that come in a unit of time; and no faster
than its batches follow each other. A replication warms up for some such times, at most for MOST of what it counts, as
nobody waits for the rest: where that is not enough the service is not settled, and no promise is read off it.

Processes before one queue remember longer. Where all batches take the same, they keep the order and the distances in
which they fell in at the beginning, until one of them finds the queue empty; with large batches that hardly ever comes.
All of them are idle at the beginning, so they fall in close after each other, and later ones find little: the worse
order, with longer latencies than evenly distributed ones. Distances grow as long as an empty queue is likely within
them, so a replication also warms up for the rounds after which one would be found, exp(load batch), at most for
PHASE_ROUNDS. What is left of it is on the careful side.

Replications go on beside each other, so many short ones take less time than a few long ones (queues.py), as long as
most of each is counted. So there are as many as leave at most WARM_UP of what is counted to warm up. Where requests go
one at a time, no step is shared (ahead.py), and few long ones are quicker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log

from .arrivals.process import ArrivalProcess
from .dispatch.dealing import Dealing
from .server import Server
from .settings import SECTIONS
from .stability import EDGE, demands

RELAXATIONS = 4

BATCHES = 2
"""Longest batches or rounds that a relaxation takes at least."""

PHASE_ROUNDS = 100
"""Batches of a process."""

WARM_UP, MOST = 0.2, 4.0
"""Of what is counted."""

LEAST_REQUESTS = 200
"""Of a replication that are counted, if there is more than one for a section."""

MOST_OF_A_SECTION, FEW_OF_A_SECTION = 20, 2
"""Replications."""


@dataclass(frozen=True)
class Replications:
    """How a service is simulated time and again."""

    number: int
    """A multiple of SECTIONS."""
    warm_up_ms: float
    counted_ms: float
    is_settled: bool
    """Whether the warm-up is long enough."""


def replications(
    servers: Sequence[Server], gap_ms: float, arrivals: ArrivalProcess, dealing: Dealing, total_ms: float
) -> Replications:
    """Returns how to count the requests of so much time, all replications together."""
    longest = max(max(float(server.batch_ms[-1]), server.round_ms) for server in servers)
    needed = RELAXATIONS * (_relaxation_ms(servers, gap_ms, arrivals, dealing) + BATCHES * longest)
    wished = max(needed, *(_phases_ms(server, 1000 / gap_ms) for server in servers))
    shortest = max(wished / WARM_UP, LEAST_REQUESTS * gap_ms)
    most = FEW_OF_A_SECTION if all(server.batch == 1 for server in servers) else MOST_OF_A_SECTION
    number = SECTIONS * int(min(max(total_ms / (SECTIONS * shortest), 1), most))
    counted = total_ms / number
    warm_up = min(wished, MOST * counted)
    if not arrivals.is_random:  # whole gaps, so that even arrivals are counted from one of them on
        warm_up = gap_ms * ceil(warm_up / gap_ms - EDGE)
    return Replications(number, warm_up, counted, needed <= MOST * counted)


def _relaxation_ms(servers: Sequence[Server], gap_ms: float, arrivals: ArrivalProcess, dealing: Dealing) -> float:
    """Returns how long the slowest queue takes to forget its beginning; of one that grows without end: 0."""
    variability = arrivals.variability(gap_ms)
    return max(
        (
            2000 * variability * one.rate_rps / (one.capacity_rps - one.rate_rps) ** 2
            for one in demands(servers, 1000 / gap_ms, dealing)
            if one.load < 1
        ),
        default=0.0,
    )


def _phases_ms(server: Server, rate_rps: float) -> float:
    """Returns how long processes of one queue take to find distances in which it is hardly ever empty."""
    if server.processes == 1:
        return 0.0
    load = min(rate_rps * server.weight / server.capacity_rps, 1.0)
    rounds = exp(load * server.batch) if load * server.batch < log(PHASE_ROUNDS) else PHASE_ROUNDS
    return float(server.batch_ms[-1]) * rounds
