"""
Queues of services whose requests are dealt by what they find: advanced request by request, in step over services.

The i-th request of every service (and replication) is dealt in one step. Before it all batches of the service's queues
are sent that start before it comes; a batch that would start at that very moment waits for it.
"""

from dataclasses import dataclass

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .dispatch.dealing import DealsByState, ServerFacts
from .queues import Queues


@dataclass(frozen=True, eq=False)
class Coupled:
    """Groups of queues: each is one service in one replication."""

    arrivals: Floats
    """Of all groups, in ms; ascending within each."""
    first: Ints
    """Shape (group + 1,): where the arrivals of each begin, and the end of the last."""
    queue: Ints
    """Shape (group, server): its queues; -1: it has fewer."""
    ends_ms: Floats
    """Shape (queue,): when the GPU of a queue fails; inf: it does not."""
    begins_ms: Floats
    """Shape (queue,): when its services are up."""


def deal_by_state(queues: Queues, coupled: Coupled, dealing: DealsByState, facts: ServerFacts) -> Ints:
    """
    Deals all requests and sends all batches.

    Returns
    -------
    Ints
        Shape (arrival,): place of each request in the times of the queues; -1: no server was left to take it.
    """
    placed = np.full(len(coupled.arrivals), -1)
    numbers = np.diff(coupled.first)
    by_number = np.argsort(-numbers, kind="stable")  # those with most requests first: who is left is a beginning
    remaining = np.searchsorted(-numbers[by_number], -np.arange(int(numbers.max(initial=0))), side="left")
    width = coupled.queue.shape[1]
    for i, groups in enumerate(remaining.tolist()):
        alive = by_number[:groups]
        now = coupled.arrivals[coupled.first[alive] + i]
        own = coupled.queue[alive]
        of_group, column = np.nonzero(own >= 0)
        among = own[of_group, column]
        at = now[of_group]
        _advance_before(queues, among, at)
        costs = np.full((groups, width), np.inf)
        costs[of_group, column] = np.where(
            (coupled.ends_ms[among] > at) & (coupled.begins_ms[among] <= at),
            dealing.costs(queues, among, facts.of(among), at),
            np.inf,
        )
        cheapest = costs.argmin(axis=1)
        can = costs[np.arange(groups), cheapest] < np.inf
        queue = own[np.arange(groups), cheapest][can]
        place = queues.known[queue]
        queues.times[place] = now[can]
        queues.known[queue] += 1
        placed[coupled.first[alive[can]] + i] = place
    queues.advance(coupled.queue[coupled.queue >= 0])
    return placed


def _advance_before(queues: Queues, among: Ints, now: Floats) -> None:
    """Sends the batches of queues that start before a time of each."""
    while among.size:
        busy = queues.head[among] < queues.known[among]
        among, now = among[busy], now[busy]
        process, start = queues.starts(among)
        goes = start < now
        among, now = among[goes], now[goes]
        if among.size:
            queues.send(among, process[goes], start[goes])
