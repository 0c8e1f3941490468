"""Runs of services: from arrivals over dispatch and queues to the latency of every request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .batching.policy import BatchingPolicy
from .central import batches_of_one_queue
from .coupled import Coupled, deal_by_state
from .dispatch.central import Central
from .dispatch.dealing import Dealing, DealsAhead, server_facts
from .neighbours.paces import Residents
from .neighbours.shared_gpus import advance_beside_neighbours
from .queues import Batches, Queues
from .server_table import server_table
from .service import Service


@dataclass(frozen=True, eq=False)
class Run:
    """One service in one replication, request by request."""

    number: Ints
    """Shape (request,): which request it is, in the order of their arrivals."""
    arrived_ms: Floats
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
    residents: Mapping[str, Residents] | None = None,
) -> list[Run]:
    """
    Returns runs of services, all of which go on at once.

    A run depends on its service, its number and the seed alone, not on what goes on beside it; with residents, on
    those of its number whose services share GPUs with it, too.

    Parameters
    ----------
    numbers
        Service (its place in `services`) and replication of each run.
    residents
        Of GPUs, by their ids, on which batches take as long as beside those that are busy; requests are dealt ahead,
        and every server has one process there.
    """
    if isinstance(dealing, Central):
        return _from_one_queue(services, numbers, dealing, batching, seed)
    servers = [server for service in services for server in service.servers]
    rules = [batching.rule(server, service.slo_ms) for service in services for server in service.servers]
    begins = np.cumsum([0, *(len(service.servers) for service in services)])
    table = server_table(servers, rules)
    randoms = [np.random.default_rng([seed, services[s].key, number]) for s, number in numbers]
    arrivals = _arrivals(services, numbers, randoms)
    of_run = [len(services[s].servers) for s, _ in numbers]
    first_queue = np.cumsum([0, *of_run])
    server = np.concatenate([np.arange(begins[s], begins[s + 1]) for s, _ in numbers])
    ends_ms = np.concatenate([services[s].ends_ms for s, _ in numbers]).astype(np.float64)
    begins_ms = np.concatenate([services[s].there_from_ms for s, _ in numbers]).astype(np.float64)
    if isinstance(dealing, DealsAhead):
        dealt = [
            _dealt(services[s], dealing, random, times)
            for (s, _), random, times in zip(numbers, randoms, arrivals, strict=True)
        ]
        divided = [_by_server(to, n, len(at)) for to, n, at in zip(dealt, of_run, arrivals, strict=True)]
        numbers_of, sizes = [number for number, _ in divided], np.concatenate([of_each for _, of_each in divided])
        first = np.cumsum(sizes) - sizes
        arrivals = [
            at if to is None else at[number] for at, number, to in zip(arrivals, numbers_of, dealt, strict=True)
        ]
        taken = [int(sizes[q : q + n].sum()) for q, n in zip(first_queue, of_run, strict=False)]
        times = np.concatenate([at[len(at) - number :] for at, number in zip(arrivals, taken, strict=True)])
        queues = Queues(table, server, times, first, first + sizes)
        gpus = [servers[i].gpu for i in server.tolist()]
        alone = np.array([residents is None or gpu not in residents for gpu in gpus])
        queues.send_all(np.flatnonzero(alone))
        if residents is not None:
            partitions = np.array([servers[i].partition for i in server.tolist()])
            replication = np.repeat(np.array([number for _, number in numbers]), of_run)
            advance_beside_neighbours(queues, gpus, partitions, replication, residents)
        placed: list[Ints | slice] = [
            slice(int(first[q]), int(first[q]) + number) for q, number in zip(first_queue, taken, strict=False)
        ]
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
        coupled = Coupled(np.concatenate(arrivals), bounds, own, ends_ms, begins_ms)
        all_placed = deal_by_state(queues, coupled, dealing, facts)
        placed = [all_placed[bounds[run] : bounds[run + 1]] for run in range(len(numbers))]
        numbers_of = [np.arange(len(times)) for times in arrivals]
    return _runs(queues, first, ends_ms, first_queue, numbers_of, arrivals, placed)


def _in_groups(group: Ints, number: int) -> Ints:
    """Returns the places of each group's members, group by group; few groups are sorted digit by digit."""
    found: Ints = np.argsort(group.astype(np.uint16) if number < 1 << 16 else group, kind="stable")
    return found


def _arrivals(
    services: Sequence[Service], numbers: Sequence[tuple[int, int]], randoms: Sequence[np.random.Generator]
) -> list[Floats]:
    """Returns when the requests of each run come."""
    return [
        services[s].arrivals.times(random, services[s].gap_ms, services[s].until_ms)
        for (s, _), random in zip(numbers, randoms, strict=True)
    ]


def _from_one_queue(
    services: Sequence[Service],
    numbers: Sequence[tuple[int, int]],
    dealing: Central,
    batching: BatchingPolicy,
    seed: int,
) -> list[Run]:
    """Returns the same where the requests of a service wait in one queue."""
    servers = [server for service in services for server in service.servers]
    rules = [batching.rule(server, service.slo_ms) for service in services for server in service.servers]
    begins = np.cumsum([0, *(len(service.servers) for service in services)])
    randoms = [np.random.default_rng([seed, services[s].key, number]) for s, number in numbers]
    arrivals = _arrivals(services, numbers, randoms)
    bounds = np.cumsum([0, *map(len, arrivals)])
    processes = [[int(begins[s]) + i for i in dealing.order(services[s].servers)] for s, _ in numbers]
    sent = batches_of_one_queue(server_table(servers, rules), processes, np.concatenate(arrivals), bounds)
    started = np.full(int(bounds[-1]), np.nan)
    ended = started.copy()
    before = np.cumsum(sent.size) - sent.size
    places = np.repeat(sent.first - before, sent.size) + np.arange(int(sent.size.sum()))
    started[places], ended[places] = np.repeat(sent.start_ms, sent.size), np.repeat(sent.end_ms, sent.size)
    order = np.argsort(sent.run, kind="stable")
    order = order[sent.start_ms[order] < inf]
    of_run = np.searchsorted(sent.run[order], np.arange(len(numbers) + 1))
    runs = []
    for run, ((s, _), times) in enumerate(zip(numbers, arrivals, strict=True)):
        own, at = order[of_run[run] : of_run[run + 1]], slice(bounds[run], bounds[run + 1])
        come = np.searchsorted(times, sent.start_ms[own], side="right")
        runs.append(
            Run(
                number=np.arange(len(times)),
                arrived_ms=times,
                started_ms=started[at],
                ended_ms=ended[at],
                batch_server=sent.server[own] - begins[s],
                batch_size=sent.size[own],
                batch_start_ms=sent.start_ms[own],
                batch_end_ms=sent.end_ms[own],
                queue_length=come + bounds[run] - sent.first[own],
            )
        )
    return runs


def _by_server(to: Ints | None, servers: int, number: int) -> tuple[Ints, Ints]:
    """Returns the numbers of requests, of those that no server takes first, and how many each server takes."""
    if to is None:
        return np.arange(number), np.array([number])
    return _in_groups(to + 1, servers + 1), np.bincount(to + 1, minlength=servers + 1)[1:]


def _dealt(service: Service, dealing: DealsAhead, random: np.random.Generator, times: Floats) -> Ints | None:
    """
    Returns the server of each request, -1: none is left; after a failure the weights are those of the others.

    None: all go to the only one.
    """
    if len(service.servers) == 1 and service.never_fails:
        return None
    weights = np.array([server.weight for server in service.servers])
    ends, begins = np.array(service.ends_ms), np.array(service.there_from_ms)
    moments = [0.0, *sorted({float(one) for one in (*ends, *begins) if 0 < one < inf}), inf]
    parts = []
    for begin, end in pairwise(moments):
        number = int(np.searchsorted(times, end) - np.searchsorted(times, begin))
        alive = np.where((ends > begin) & (begins <= begin), weights, 0.0)
        if alive.any():
            parts.append(dealing.deal(random, alive, number))
        else:
            parts.append(np.full(number, -1))
    return np.concatenate(parts)


def _runs(
    queues: Queues,
    first: Ints,
    ends_ms: Floats,
    first_queue: Ints,
    numbers: list[Ints],
    arrivals: list[Floats],
    placed: Sequence[Ints | slice],
) -> list[Run]:
    """
    Returns what became of the requests and what the servers did, run by run.

    Parameters
    ----------
    placed
        Place of each of a run's requests in the times of the queues, -1: no server takes it; or one place after the
        other, for the last of the run's requests, and no server takes the others.
    """
    batches = by_queue(queues.batches(), len(first))
    started, ended = of_requests(queues, batches)
    lost = np.flatnonzero(ends_ms < inf)
    for queue in lost.tolist():  # what a GPU has not completed when it fails is lost with it
        own = slice(first[queue], queues.known[queue])
        ended[own] = np.where(ended[own] <= ends_ms[queue], ended[own], inf)
    sent = batches.start_ms < inf
    batches = batches if sent.all() else batches.of(np.flatnonzero(sent))
    of_queue = np.searchsorted(batches.queue, np.arange(len(first) + 1))
    length = _queue_lengths(queues, batches, first, of_queue)
    end = np.minimum(batches.end_ms, ends_ms[batches.queue]) if lost.size else batches.end_ms
    runs = []
    for run, (number, times, places) in enumerate(zip(numbers, arrivals, placed, strict=True)):
        own = slice(of_queue[first_queue[run]], of_queue[first_queue[run + 1]])
        runs.append(
            Run(
                number=number,
                arrived_ms=times,
                started_ms=_of_run(started, places, len(times)),
                ended_ms=_of_run(ended, places, len(times)),
                batch_server=batches.queue[own] - first_queue[run],
                batch_size=batches.size[own],
                batch_start_ms=batches.start_ms[own],
                batch_end_ms=end[own],
                queue_length=length[own],
            )
        )
    return runs


def by_queue(batches: Batches, queues: int) -> Batches:
    """Returns batches queue by queue, those of each in the order in which they were sent."""
    if (batches.queue[1:] >= batches.queue[:-1]).all():
        return batches
    return batches.of(_in_groups(batches.queue, queues))


def of_requests(queues: Queues, batches: Batches) -> tuple[Floats, Floats]:
    """
    Returns when the batch of each place started and ended, nan: it was never sent; and inf for a place -1.

    `batches`: queue by queue.
    """
    last = len(queues.times) - 1
    size = batches.size
    starts, ends = (
        of if of.size == last else np.repeat(of, size) for of in (batches.start_ms, batches.end_ms)
    )  # as many batches as places are of one request each
    if starts.size == last:  # all were sent, and the places of queues follow each other
        return np.append(starts, inf), np.append(ends, inf)
    started = np.full(last + 1, np.nan)
    started[-1] = inf
    ended = started.copy()
    places = np.repeat(batches.first - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
    started[places], ended[places] = starts, ends
    return started, ended


def _of_run(figures: Floats, places: Ints | slice, number: int) -> Floats:
    """Returns the figures of a run's requests by their places; inf where no server takes one."""
    found: Floats = figures[places]
    return found if len(found) == number else np.concatenate([np.full(number - len(found), inf), found])


def _queue_lengths(queues: Queues, batches: Batches, first: Ints, of_queue: Ints) -> Ints:
    """Returns how many requests of its queue waited when each batch started; `batches`: queue by queue."""
    length = np.empty(len(batches.queue), dtype=np.int64)
    for queue, (begin, end) in enumerate(pairwise(of_queue.tolist())):
        own = queues.times[first[queue] : queues.known[queue]]
        length[begin:end] = own.searchsorted(batches.start_ms[begin:end], side="right") + first[queue]
    length -= batches.first
    return length
