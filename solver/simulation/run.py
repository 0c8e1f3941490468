"""Runs of services: from arrivals over dispatch and queues to the latency of every request."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .batching.policy import BatchingPolicy
from .coupled import Coupled, deal_by_state
from .dispatch.dealing import Dealing, DealsAhead, server_facts
from .queues import Batches, Queues, server_table
from .service import Service


@dataclass(frozen=True, eq=False)
class Run:
    """One service in one replication, request by request."""

    arrived_ms: Floats
    """Shape (request,); in no order."""
    started_ms: Floats
    """When the request's batch started; inf: dropped or refused, nan: it never did."""
    ended_ms: Floats
    """inf: dropped, refused, or lost with a GPU; nan: it still waits for a batch to fill up."""
    batch_server: Ints
    """Shape (batch,): number of the server, in the order of the service's."""
    batch_size: Ints
    batch_start_ms: Floats
    batch_end_ms: Floats
    queue_length: Ints
    """Shape (batch,): requests that waited when the batch started, those in it among them."""


def simulate_runs(
    services: Sequence[Service],
    numbers: Sequence[tuple[int, int]],
    *,
    dealing: Dealing,
    batching: BatchingPolicy,
    seed: int,
) -> list[Run]:
    """
    Returns runs of services, all of which go on at once.

    A run depends on its service, its number and the seed alone, not on what goes on beside it.

    Parameters
    ----------
    numbers
        Service (its place in `services`) and replication of each run.
    """  # fmt: skip
    servers = [server for service in services for server in service.servers]
    rules = [batching.rule(server, service.slo_ms) for service in services for server in service.servers]
    begins = np.cumsum([0, *(len(service.servers) for service in services)])
    table = server_table(servers, rules)
    randoms = [np.random.default_rng([seed, services[s].key, number]) for s, number in numbers]
    arrivals = [
        services[s].arrivals.times(random, services[s].gap_ms, services[s].until_ms)
        for (s, _), random in zip(numbers, randoms, strict=True)
    ]
    of_run = [len(services[s].servers) for s, _ in numbers]
    first_queue = np.cumsum([0, *of_run])
    server = np.concatenate([np.arange(begins[s], begins[s + 1]) for s, _ in numbers])
    ends_ms = np.concatenate([services[s].ends_ms for s, _ in numbers]).astype(np.float64)
    if isinstance(dealing, DealsAhead):
        dealt = [
            _dealt(services[s], dealing, random, times)
            for (s, _), random, times in zip(numbers, randoms, arrivals, strict=True)
        ]
        sizes = np.concatenate([np.bincount(to + 1, minlength=n + 1)[1:] for to, n in zip(dealt, of_run, strict=True)])
        first = np.cumsum(sizes) - sizes
        times = np.concatenate([_by_server(at, to) for at, to in zip(arrivals, dealt, strict=True)])
        queues = Queues(table, server, times, first, first + sizes)
        queues.advance(np.arange(len(server)))
        placed = [_places(to, first[q : q + n]) for to, q, n in zip(dealt, first_queue, of_run, strict=False)]
    else:
        counts = np.array([len(times) for times in arrivals])
        room = np.repeat(counts, of_run)
        first = np.cumsum(room) - room
        queues = Queues(table, server, np.full(int(room.sum()), inf), first, first)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        own = np.full((len(numbers), max(of_run)), -1)
        for run, (q, n) in enumerate(zip(first_queue, of_run, strict=False)):
            own[run, :n] = np.arange(q, q + n)
        facts = server_facts([servers[i] for i in server])
        all_placed = deal_by_state(queues, Coupled(np.concatenate(arrivals), bounds, own, ends_ms), dealing, facts)
        placed = [all_placed[bounds[run] : bounds[run + 1]] for run in range(len(numbers))]
    return _runs(queues, first, ends_ms, first_queue, arrivals, placed)


def _dealt(service: Service, dealing: DealsAhead, random: np.random.Generator, times: Floats) -> Ints:
    """Returns the server of each request, -1: none is left; after a failure the weights are those of the others."""
    weights = np.array([server.weight for server in service.servers])
    ends = np.array(service.ends_ms)
    moments = [0.0, *sorted({float(end) for end in ends if end < inf}), inf]
    parts = []
    for begin, end in pairwise(moments):
        number = int(np.searchsorted(times, end) - np.searchsorted(times, begin))
        alive = np.where(ends > begin, weights, 0.0)
        if alive.any():
            parts.append(dealing.deal(random, alive, number))
        else:
            parts.append(np.full(number, -1))
    return np.concatenate(parts)


def _by_server(times: Floats, dealt: Ints) -> Floats:
    """Returns the arrivals server by server, without those that no server takes."""
    order = np.argsort(dealt, kind="stable")
    return times[order][np.searchsorted(dealt[order], 0) :]


def _places(dealt: Ints, first: Ints) -> Ints:
    """Returns the place of each request in the times of the queues; -1: no server takes it."""
    order = np.argsort(dealt, kind="stable")
    refused = int(np.searchsorted(dealt[order], 0))
    places = np.full(len(dealt), -1)
    places[order[refused:]] = np.arange(first[0], first[0] + len(dealt) - refused)
    return places


def _runs(
    queues: Queues, first: Ints, ends_ms: Floats, first_queue: Ints, arrivals: list[Floats], placed: list[Ints]
) -> list[Run]:
    batches = queues.batches()
    started, ended = _of_requests(queues, batches)
    lost = np.flatnonzero(ends_ms < inf)
    for queue in lost.tolist():  # what a GPU has not completed when it fails is lost with it
        own = slice(first[queue], queues.known[queue])
        ended[own] = np.where(ended[own] <= ends_ms[queue], ended[own], inf)
    # A place -1 is the one after the last, which no batch ever takes: nobody took the request.
    started, ended = np.append(started, inf), np.append(ended, inf)
    sent = batches.start_ms < inf
    order = np.flatnonzero(sent)[np.argsort(batches.queue[sent], kind="stable")]
    of_queue = np.searchsorted(batches.queue[order], np.arange(len(first) + 1))
    length = _queue_lengths(queues, batches, first, order, of_queue)
    runs = []
    for run, (times, places) in enumerate(zip(arrivals, placed, strict=True)):
        own = slice(of_queue[first_queue[run]], of_queue[first_queue[run + 1]])
        mine = order[own]
        end = batches.end_ms[mine]
        runs.append(
            Run(
                arrived_ms=times,
                started_ms=started[places],
                ended_ms=ended[places],
                batch_server=batches.queue[mine] - first_queue[run],
                batch_size=batches.size[mine],
                batch_start_ms=batches.start_ms[mine],
                batch_end_ms=np.minimum(end, ends_ms[batches.queue[mine]]),
                queue_length=length[own],
            )
        )
    return runs


def _of_requests(queues: Queues, batches: Batches) -> tuple[Floats, Floats]:
    """Returns when the batch of each place started and ended; nan: it was never sent."""
    started = np.full(len(queues.times) - 1, np.nan)
    ended = np.full(len(queues.times) - 1, np.nan)
    before = np.cumsum(batches.size) - batches.size
    places = np.repeat(batches.first - before, batches.size) + np.arange(int(batches.size.sum()))
    started[places] = np.repeat(batches.start_ms, batches.size)
    ended[places] = np.repeat(batches.end_ms, batches.size)
    return started, ended


def _queue_lengths(queues: Queues, batches: Batches, first: Ints, order: Ints, of_queue: Ints) -> Ints:
    """Returns how many requests of its queue waited when each batch started; `order`: the batches queue by queue."""
    length = np.empty(len(order), dtype=np.int64)
    for queue, (begin, end) in enumerate(pairwise(of_queue)):
        own = order[begin:end]
        come = np.searchsorted(queues.times[first[queue] : queues.known[queue]], batches.start_ms[own], side="right")
        length[begin:end] = come + first[queue] - batches.first[own]
    return length
