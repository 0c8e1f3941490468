"""From a problem, its plan and what is to be simulated to services with servers; or all that is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from ..model.digest import reference
from ..model.errors import Finding, InputError
from ..model.lists import few
from ..model.plan import Plan
from ..model.problem import GREATEST_QUANTILE, LEAST_QUANTILE, Problem, Workload
from ..model.rounding import RELATIVE
from .arrivals.bursts import Bursts
from .arrivals.trace import Trace
from .dispatch.central import Central
from .promised import quantile_of
from .server import BatchTimes, Server, servers_of
from .service import Service
from .settings import SECTIONS, SimulationSettings
from .spares import Spare, spares_of
from .warm_up import replications

LONGEST_GAP_MS = 86_400_000.0
"""
A day. A service with fewer requests is simulated with one a day: its queue is empty for each of them as it is, and
times stay so small that their differences are right to a microsecond.
"""

MOST_REQUESTS = 50_000_000
"""Latencies that are kept in memory, 8 bytes each."""

MOST_IN_A_RUN = 5_000_000
"""Requests of one replication or trace, which is held at once; about 100 bytes each."""

MOST_CHANGES = 5_000_000.0
"""Changes between bursts and quiet times in one replication that are kept in memory."""

LEAST_MS = 1e-6
MOST_FIGURE = 1e9
"""Milliseconds of a batch or a round, requests per second of a partition: beyond it sums of times lose digits."""

LEAST_SHARE = 1e-9
"""Of a service's requests; a partition with less gets none, as it would in any simulation of this length."""


def services_of(
    problem: Problem, plan: Plan, settings: SimulationSettings, batch_times: BatchTimes | None = None
) -> list[Service]:
    """
    Returns the services of a problem on the servers of its plan.

    Raises
    ------
    InputError
        With all that is wrong with the plan, or with what is to be simulated.
    """
    servers = servers_of(plan, batch_times)
    if findings := [*_wrong_plan(problem, plan, servers), *_wrong_settings(problem, plan, settings)]:
        raise InputError(findings)
    spares: dict[str, list[Spare]] = {}
    if settings.takeover_s is not None:
        for spare in spares_of(plan, servers, settings.failures_s, settings.takeover_s):
            spares.setdefault(spare.workload, []).append(spare)
    services = [
        _with_spares(_service(workload, servers[workload.name], plan, settings), servers, spares.get(workload.name, ()))
        for workload in problem.workloads
    ]
    if findings := list(_too_much(services, settings)):
        raise InputError(findings)
    return services


def _wrong_plan(problem: Problem, plan: Plan, servers: Mapping[str, tuple[Server, ...]]) -> Iterator[Finding]:
    expected = reference(problem)
    if plan.problem != expected:
        yield Finding(
            "plan",
            "problem",
            f"is {plan.problem.name!r} (sha256 {plan.problem.sha256[:12]}…), not {expected.name!r} (sha256 "
            f"{expected.sha256[:12]}…): the plan answers another problem, or another state of it; plan this one anew",
        )
        return
    if not plan.gpus:
        yield Finding("plan", "gpus", f"is empty (status {plan.status}); there is nothing to simulate")
        return
    names = {workload.name for workload in problem.workloads}
    if missing := [name for name in names if not any(server.weight > 0 for server in servers.get(name, ()))]:
        yield Finding("plan", "gpus", f"serve no requests of {few(sorted(missing))}; expected a partition with a rate")
    for name, own in servers.items():
        for server in own:
            times = [float(server.batch_ms[1:].min()), float(server.batch_ms.max())]
            times += [server.round_ms, max(server.slot_ms, server.after_ms) + LEAST_MS] if server.round_ms else []
            if not (min(times) >= LEAST_MS and max(*times, server.weight) <= MOST_FIGURE):
                message = (
                    f"has {name} at {server.weight:.3g} requests/s in {min(times):.3g} to {max(times):.3g} ms; at most "
                    f"{MOST_FIGURE:g} of both, and no less than {LEAST_MS:g} ms, can be simulated"
                )
                yield Finding("plan", f"gpus {server.gpu}, partition {server.partition}", message)
    if unknown := sorted(servers.keys() - names):
        yield Finding("plan", "gpus", f"serve {few(unknown)}, which the problem does not have")
    yield from _longer_than_their_round(plan)


def _longer_than_their_round(plan: Plan) -> Iterator[Finding]:
    for gpu in plan.gpus:
        for number, partition in enumerate(gpu.partitions):
            taken_ms = sum(served.latency_ms for served in partition.serves)
            if partition.duty_cycle_ms is not None and taken_ms > partition.duty_cycle_ms * (1 + RELATIVE):
                message = (
                    f"is {partition.duty_cycle_ms:g} ms; the turns take {taken_ms:g} ms, so rounds would run into each "
                    "other: expected a round that is as long"
                )
                yield Finding("plan", f"gpus {gpu.id}, partition {number}, duty_cycle_ms", message)


def _wrong_settings(problem: Problem, plan: Plan, settings: SimulationSettings) -> Iterator[Finding]:
    names = {workload.name for workload in problem.workloads}
    for name in sorted(settings.arrivals_of.keys() - names):
        yield Finding("arrivals", name, f"is no service of the problem; it has {few(sorted(names))}")
    if settings.quantile is not None and not LEAST_QUANTILE < settings.quantile <= GREATEST_QUANTILE:
        yield Finding(
            "quantile",
            "",
            f"is {settings.quantile:g}; expected a share above {LEAST_QUANTILE:g} and at most {GREATEST_QUANTILE:g}",
        )
    if not 0 < settings.load <= 1000:
        yield Finding("load", "", f"is {settings.load:g}; expected a factor above 0 and at most 1000")
    if settings.requests < 1:
        yield Finding("requests", "", f"is {settings.requests}; expected 1 or more for each service")
    if settings.seconds is not None and not 0 < settings.seconds <= 1e9:
        yield Finding("seconds", "", f"is {settings.seconds:g}; expected more than 0 and at most 1e9")
    if settings.takeover_s is not None and not 0 <= settings.takeover_s <= 1e6:
        yield Finding("takeover", "", f"is {settings.takeover_s:g} s; expected 0 to 1e6")
    if settings.takeover_s is not None and not settings.failures_s:
        yield Finding("takeover", "", "is of a GPU that fails, and none does; expected --fail-gpu GPU@SECONDS too")
    if isinstance(settings.router, Central):
        yield from _wrong_for_one_queue(plan, settings)
    gpus = {gpu.id for gpu in plan.gpus}
    for gpu, moment in settings.failures_s.items():
        if gpu not in gpus:
            yield Finding("failed GPU", gpu, f"is no GPU of the plan; it has {few(sorted(gpus))}")
        if not 0 <= moment <= 1e9:
            yield Finding("failed GPU", gpu, f"fails at {moment:g} s; expected 0 to 1e9")


def _wrong_for_one_queue(plan: Plan, settings: SimulationSettings) -> Iterator[Finding]:
    """Yields what is not simulated where the requests of a service wait in one queue."""
    if settings.failures_s:
        yield Finding("dispatch", "central", "is not simulated with a GPU that fails; expected another dispatch")
    if any(partition.duty_cycle_ms is not None for gpu in plan.gpus for partition in gpu.partitions):
        yield Finding("dispatch", "central", "is not simulated where services take turns; expected another dispatch")


def _service(workload: Workload, servers: tuple[Server, ...], plan: Plan, settings: SimulationSettings) -> Service:
    arrivals = settings.arrivals_of.get(workload.name, settings.arrivals)
    total = sum(server.weight for server in servers)
    shares = [server.weight / total for server in servers]
    servers = tuple(
        replace(server, weight=share if share >= LEAST_SHARE else 0.0)
        for server, share in zip(servers, shares, strict=True)
    )
    ends_ms = [1000 * settings.failures_s.get(server.gpu, inf) for server in servers]
    is_settled, runs = True, SECTIONS
    if isinstance(arrivals, Trace):
        own = arrivals.gap_ms if 0 < arrivals.gap_ms < inf else 1000 / workload.rate_rps
        gap_ms = own / settings.load
        runs, begin, counted = 1, 0.0, float(arrivals.at_ms[-1]) / settings.load * (1 + 1e-12) + gap_ms
    else:
        gap_ms = min(1000 / (workload.rate_rps * settings.load), LONGEST_GAP_MS)
        total_ms = settings.requests * gap_ms if settings.seconds is None else 1000 * settings.seconds
        planned = replications(servers, gap_ms, arrivals, settings.router, total_ms)
        if (failure_ms := min(ends_ms)) < inf:
            begin, counted = failure_ms, total_ms / runs
        else:
            runs, begin, counted = planned.number, planned.warm_up_ms, planned.counted_ms
            is_settled = planned.is_settled
    return Service(
        name=workload.name,
        slo_ms=workload.slo_ms,
        gap_ms=gap_ms,
        arrivals=arrivals,
        servers=servers,
        ends_ms=ends_ms,
        counted_from_ms=begin,
        until_ms=begin + counted,
        runs=runs,
        is_settled=is_settled,
        quantile=quantile_of(plan, settings, workload.name),
    )


def _with_spares(service: Service, servers: Mapping[str, tuple[Server, ...]], spares: Sequence[Spare]) -> Service:
    """Returns the service with what comes up when its own servers are lost."""
    if not spares:
        return service
    total = sum(server.weight for server in servers[service.name])
    return replace(
        service,
        servers=(*service.servers, *(replace(one.server, weight=one.server.weight / total) for one in spares)),
        ends_ms=(*service.ends_ms, *[inf] * len(spares)),
        begins_ms=(*[0.0] * len(service.servers), *(one.begins_ms for one in spares)),
    )


def _too_much(services: list[Service], settings: SimulationSettings) -> Iterator[Finding]:
    total = sum(service.counted_requests * service.runs for service in services)
    if total > MOST_REQUESTS:
        how = "a smaller --seconds or --load" if settings.seconds is not None else "fewer --requests for each service"
        yield Finding(
            "simulation",
            "",
            f"counts {total:,.0f} requests; at most {MOST_REQUESTS:,} are kept in memory: ask for {how}",
        )
    for service in services:
        if service.requests > MOST_IN_A_RUN:
            yield Finding(
                "simulation",
                service.name,
                f"has {service.requests:,.0f} requests in one run, those before counting begins included; at most "
                f"{MOST_IN_A_RUN:,} are simulated at once: ask for fewer, an earlier failure, or a shorter trace",
            )
        if isinstance(service.arrivals, Bursts) and service.arrivals.changes(service.until_ms) > MOST_CHANGES:
            shortest = service.arrivals.length_ms * service.arrivals.changes(service.until_ms) / MOST_CHANGES / 1000
            yield Finding(
                "arrivals",
                service.name,
                f"has bursts of {service.arrivals.length_ms / 1000:g} s, too many of them between its requests; "
                f"expected {shortest:.2g} s or more at its rate",
            )
