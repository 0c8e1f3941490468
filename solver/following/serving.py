"""
Requests served by plans that follow each other.

Requests that come in an epoch are dealt to its plan's servers, by turns with the plan's rates as weights. A server that
the next plan has as well, on the same partition of the same GPU with the same batches, goes on with what waits before
it. Any other one serves what it was dealt and then is gone; that it is still there beside the next plan's for so long
is a liberty that gpu-lets takes as well.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ..model.problem import Problem
from ..performance.interference.prediction import Floats, Ints
from ..simulation.batching.as_planned import AsPlanned
from ..simulation.dispatch.weighted_round_robin import WeightedRoundRobin
from ..simulation.queues import Queues
from ..simulation.run import by_queue, of_requests
from ..simulation.server import Server, servers_of
from ..simulation.server_table import server_table
from .counting import PERIOD_MS
from .epochs import Epoch


def latencies_ms(problem: Problem, arrivals_ms: Sequence[Floats], epochs: Sequence[Epoch]) -> list[Floats]:
    """
    Returns the latency of every request of each service, in the order of their arrivals.

    Parameters
    ----------
    arrivals_ms
        Of each service of the problem, ascending.
    epochs
        One at least, the first from the beginning on, each plan with servers for every service.
    """
    servers: list[Server] = []
    slo_ms: list[float] = []
    to: list[Ints] = []
    by_service = [servers_of(epoch.plan) for epoch in epochs]
    for workload, times in zip(problem.workloads, arrivals_ms, strict=True):
        own, dealt = _dealt([one[workload.name] for one in by_service], times, epochs)
        to.append(np.concatenate(dealt) + len(servers))
        servers += own
        slo_ms += [workload.slo_ms] * len(own)
    queue = np.concatenate(to)
    order = np.argsort(queue, kind="stable")
    times = np.concatenate(arrivals_ms)
    sizes = np.bincount(queue, minlength=len(servers))
    first = np.cumsum(sizes) - sizes
    policy = AsPlanned()
    rules = [policy.rule(server, slo) for server, slo in zip(servers, slo_ms, strict=True)]
    queues = Queues(server_table(servers, rules), np.arange(len(servers)), times[order], first, first + sizes)
    queues.send_all(np.arange(len(servers)))
    _, ended = of_requests(queues, by_queue(queues.batches(), len(first)))
    latency = np.empty(len(times))
    latency[order] = ended[: len(times)] - times[order]
    return np.split(latency, np.cumsum([len(own) for own in arrivals_ms])[:-1])


def _dealt(
    of_epochs: Sequence[Sequence[Server]], times: Floats, epochs: Sequence[Epoch]
) -> tuple[list[Server], list[Ints]]:
    """
    Returns the servers of a service over all epochs, and which of them each request goes to, epoch by epoch.

    `of_epochs`: its servers in each.
    """
    place: dict[tuple[object, ...], int] = {}
    servers: list[Server] = []
    dealt = []
    dealing, random = WeightedRoundRobin(), np.random.default_rng(0)
    before: set[int] = set()
    edges = [0, *(int(np.searchsorted(times, PERIOD_MS * epoch.period)) for epoch in epochs[1:]), len(times)]
    for own, begin, end in zip(of_epochs, edges[:-1], edges[1:], strict=True):
        here = []
        for key, server in _keyed(own):
            if place.get(key, -1) not in before:  # it is new, or was gone in between
                place[key] = len(servers)
                servers.append(server)
            here.append((place[key], server.weight))
        index, weights = np.array([at for at, _ in here]), np.array([weight for _, weight in here])
        dealt.append(index[dealing.deal(random, weights, end - begin)])
        before = set(index.tolist())
    return servers, dealt


def _keyed(servers: Sequence[Server]) -> Iterator[tuple[tuple[object, ...], Server]]:
    """Yields servers with all that makes them the same one in another plan, and their number among equal ones."""
    seen: Counter[tuple[object, ...]] = Counter()
    for server in servers:
        figures = (server.batch, server.processes, *server.batch_ms.tolist(), server.round_ms, server.slot_ms)
        own = (server.gpu, server.partition, *figures, server.after_ms, server.held_ms)
        seen[own] += 1
        yield (*own, seen[own]), server
