"""
Services that meet on a GPU are simulated at the same time: they begin, count and end together, in every replication.

Services that share a GPU with a third one are together, too. They count for as long as all of them together have as
many requests as each would alone, so a service with few requests among busy ones has fewer than it would have alone,
and wider intervals.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...model.errors import Finding
from ...model.lists import few
from ..arrivals.trace import Trace
from ..batching.deferred import Deferred
from ..dispatch.dealing import DealsAhead
from ..service import Service
from ..settings import SimulationSettings
from ..stability import EDGE, demands
from ..warm_up import replications
from .paces import Residents
from .shared_gpus import BITS, MOST_GPUS


def not_simulated_together(settings: SimulationSettings, residents: Mapping[str, Residents]) -> Iterator[Finding]:
    """Yields what does not go with neighbours that are simulated."""
    where = "--neighbours"
    if not isinstance(settings.router, DealsAhead):
        message = f"are simulated where requests are dealt ahead, not with dispatch {settings.router.name}; expected "
        yield Finding(where, "simulated", f"{message}weighted_round_robin or random")
    if isinstance(settings.policy, Deferred):
        message = "are not simulated with batching deferred, which knows how long a batch takes; expected greedy, full "
        yield Finding(where, "simulated", f"{message}or delay:MS")
    if settings.failures_s:
        yield Finding(where, "simulated", "are not simulated with a GPU that fails; leave out one of both")
    traces = [name for name, one in settings.arrivals_of.items() if isinstance(one, Trace)]
    if isinstance(settings.arrivals, Trace) or traces:
        message = "are not simulated with recorded arrivals, which have no replications; expected others"
        yield Finding(where, "simulated", f"{message} of {few(sorted(traces))}" if traces else message)
    if len(residents) > MOST_GPUS:
        yield Finding(where, "simulated", f"are those of {len(residents):,} GPUs; at most {MOST_GPUS:,} are simulated")
    for gpu, one in residents.items():
        if len(one.batch) > BITS:
            yield Finding("plan", f"gpus {gpu}", f"has {len(one.batch)} residents under MPS; at most {BITS} can be")


def together(services: Sequence[Service], residents: Mapping[str, Residents]) -> list[list[int]]:
    """Returns the services, by their places, in groups that meet on shared GPUs, in their order."""
    gpus = {gpu: i for i, gpu in enumerate(residents)}
    pairs = {(s, gpus[server.gpu]) for s, one in enumerate(services) for server in one.servers if server.gpu in gpus}
    row, column = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    nodes = len(services) + len(gpus)
    graph = coo_array((np.ones(len(row)), (row, column + len(services))), shape=(nodes, nodes))
    _, label = connected_components(graph, directed=False)
    groups: dict[int, list[int]] = {}
    for service, of in enumerate(label[: len(services)].tolist()):
        groups.setdefault(of, []).append(service)
    return list(groups.values())


def aligned(
    services: Sequence[Service], residents: Mapping[str, Residents], settings: SimulationSettings
) -> list[Service]:
    """Returns the services with times that those that meet have in common, and what each server does alone."""
    answer = list(services)
    for group in together(services, residents):
        own = [_with_rest(services[s], residents) for s in group]
        if len(group) > 1:
            own = _at_the_same_time(own, settings)
        for s, service in zip(group, own, strict=True):
            answer[s] = service
    return answer


def _with_rest(service: Service, residents: Mapping[str, Residents]) -> Service:
    """Returns the service with servers that know what they do alone."""
    servers = []
    for server in service.servers:
        alone = 1.0
        if server.gpu in residents:
            here = residents[server.gpu]
            only = np.arange(len(here.batch)) == server.partition
            alone = float(here.parts(only)[server.partition])
        servers.append(replace(server, alone=alone))
    return replace(service, servers=tuple(servers))


def _at_the_same_time(services: Sequence[Service], settings: SimulationSettings) -> list[Service]:
    rates = [1 / service.gap_ms for service in services]
    total_ms = settings.requests * len(services) / sum(rates) if settings.seconds is None else 1000 * settings.seconds
    planned = [replications(one.servers, one.gap_ms, one.arrivals, settings.router, total_ms) for one in services]
    number = min(one.number for one in planned)
    begin_ms, counted_ms = max(one.warm_up_ms for one in planned), total_ms / number
    return [
        replace(
            service,
            counted_from_ms=begin_ms,
            until_ms=begin_ms + counted_ms,
            runs=number,
            is_settled=own.is_settled and _is_served_beside_all(service, settings),
        )
        for service, own in zip(services, planned, strict=True)
    ]


def _is_served_beside_all(service: Service, settings: SimulationSettings) -> bool:
    """Returns whether every queue is stable while all neighbours are busy."""
    rate = 1000 / service.gap_ms
    return all(one.load < 1 - EDGE for one in demands(service.servers, rate, settings.router))
