"""
How long a replication runs before its requests are counted: it begins with empty queues.

A queue near its capacity forgets its beginning at the speed of a reflected Brownian motion with the same drift and
variance (heavy traffic: Whitt 1989, Planning queueing simulations, Management Science 35(11), section 4): in the time
2 v / (C - r)^2, with capacity C, rate r, and v the variance of the requests that come in a unit of time. A replication
warms up for three such times, within limits: a part of what it counts at least, and some times of it at most, as nobody
waits for the rest. Where that is not enough the service is not settled, and no promise is read off it.
"""

from collections.abc import Sequence

from .arrivals.process import ArrivalProcess
from .dispatch.dealing import Dealing
from .server import Server
from .stability import demands

RELAXATIONS = 3

LEAST, MOST = 0.2, 4.0
"""Of what is counted."""


def warm_up_ms(
    servers: Sequence[Server], gap_ms: float, arrivals: ArrivalProcess, dealing: Dealing, counted_ms: float
) -> tuple[float, bool]:
    """Returns how long a replication warms up, and whether that is enough."""
    needed = RELAXATIONS * _relaxation_ms(servers, gap_ms, arrivals, dealing)
    warm_up = min(max(needed, LEAST * counted_ms), MOST * counted_ms)
    if not arrivals.is_random:  # whole gaps, so that even arrivals are counted from one of them on
        warm_up = gap_ms * round(warm_up / gap_ms)
    return warm_up, needed <= warm_up


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
