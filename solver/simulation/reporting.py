"""From what was counted to the report: percentiles, verdicts, what the servers did."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite

import numpy as np

from ..model.digest import reference
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.simulation_report import (
    Instability,
    LatencyBin,
    SimulatedPartition,
    SimulatedPercentile,
    SimulatedService,
    SimulationReport,
    Verdict,
)
from ..performance.interference.prediction import Floats
from .intervals import CLOCK_MS, METHOD, Estimate, estimate, in_place, quantile, share_within
from .promised import planned_for, promised_quantile
from .sections import Section, Usage, added
from .service import Service
from .services import LONGEST_GAP_MS
from .settings import SimulationSettings
from .stability import unstable

PERCENTILES = (0.5, 0.9, 0.95, 0.99, 0.999)

BINS_TO_SLO = 20
"""Bins of the histogram up to the SLO; as many follow."""


def report_of(
    problem: Problem,
    plan: Plan,
    settings: SimulationSettings,
    services: Sequence[Service],
    counted: Mapping[int, Sequence[tuple[Sequence[Section], Usage]]],
    *,
    is_complete: bool,
) -> SimulationReport:
    """Returns the report of what was counted, by service and run; `is_complete`: nothing was interrupted."""
    reached = [s for s in range(len(services)) if counted.get(s)]
    found = tuple(_service(services[s], counted[s], settings) for s in reached)
    return SimulationReport(
        version=1,
        problem=reference(problem),
        planner=plan.planner,
        quantile=promised_quantile(plan) if settings.quantile is None else settings.quantile,
        load=settings.load,
        seed=settings.seed,
        dispatch=settings.router.name,
        planned_for=planned_for(plan),
        batching=settings.policy.name,
        batch_times="measured" if settings.measured_batches else "plan",
        neighbours=settings.neighbours,
        failures_s=dict(settings.failures_s),
        method=METHOD,
        services=found,
        missing=tuple(services[s].name for s in range(len(services)) if not counted.get(s)),
        stopped="done" if is_complete else "interrupted",
        requests=sum(one.requests for one in found),
        runtime_s=0.0,
        notes=tuple(_notes(plan, settings, services)),
    )


def _service(
    service: Service, counted: Sequence[tuple[Sequence[Section], Usage]], settings: SimulationSettings
) -> SimulatedService:
    sections = [section for ours, _ in counted for section in ours]
    usage = added([one for _, one in counted])
    quantiles = sorted({*PERCENTILES, service.quantile})
    latencies = [in_place(own, quantiles) for own in _of_each_section(sections)]
    together = in_place(np.concatenate(latencies), quantiles)
    waiting = sum(section.waiting for section in sections)
    served = together[together < inf]
    estimates = {share: estimate(latencies, quantile(share), together) for share in quantiles}
    in_time = estimate(latencies, share_within(service.slo_ms), together)
    wait_ms = sum(section.wait_ms for section in sections) / len(served) if served.size else None
    grows = unstable(service, settings.router)
    counted_ms = len(counted) * (service.until_ms - service.counted_from_ms)
    return SimulatedService(
        workload=service.name,
        slo_ms=service.slo_ms,
        rate_rps=1000 / service.gap_ms,
        arrivals=service.arrivals.name,
        settled=service.is_settled,
        sections=sum(1 for section in latencies if section.size),
        requests=len(together) + waiting,
        dropped=len(together) - len(served),
        waiting=waiting,
        percentiles=tuple(_percentile(share, found) for share, found in estimates.items()),
        mean_ms=float(served.mean()) if served.size else None,
        wait_ms=wait_ms,
        in_time=_known(in_time.value),
        in_time_low=_known(max(in_time.low, 0.0) if isfinite(in_time.low) else in_time.low),
        in_time_high=_known(min(in_time.high, 1.0) if isfinite(in_time.high) else in_time.high),
        quantile=service.quantile,
        holds=_verdict(estimates[service.quantile], service.slo_ms, grows is None, service.is_settled),
        unstable=None
        if grows is None
        else Instability(
            since_s=grows.since_s, rate_rps=grows.rate_rps, capacity_rps=grows.capacity_rps, where=grows.where
        ),
        batch_sizes=_batch_sizes(usage),
        queue_mean=None if wait_ms is None else wait_ms * len(served) / counted_ms,
        queue_longest=usage.longest_queue,
        histogram=_histogram(together, service.slo_ms),
        partitions=_partitions(service, usage),
    )


def _of_each_section(sections: Sequence[Section]) -> list[Floats]:
    """Returns the latencies of each section, of all runs that are of it."""
    own: dict[int, list[Floats]] = {}
    for section in sections:
        own.setdefault(section.number, []).append(section.latency_ms)
    return [np.concatenate(own[number]) for number in sorted(own)]


def _known(figure: float) -> float | None:
    return figure if isfinite(figure) else None


def _percentile(share: float, found: Estimate) -> SimulatedPercentile:
    return SimulatedPercentile(
        quantile=share,
        latency_ms=_known(found.value),
        low_ms=_known(max(found.low, 0.0) if isfinite(found.low) else found.low),
        high_ms=_known(found.high),
    )


def _verdict(found: Estimate, slo_ms: float, is_stable: bool, is_settled: bool) -> Verdict:
    """Returns whether a quantile is within the SLO, as far as its interval tells; queues that fill up do not tell."""
    if not is_stable:
        return "no"
    if np.isnan(found.value):
        return "unknown"
    if found.high <= slo_ms + CLOCK_MS:
        return "yes" if is_settled else "unsure"
    return "no" if found.low > slo_ms + CLOCK_MS else "unsure"


def _batch_sizes(usage: Usage) -> dict[int, float]:
    seen = np.flatnonzero(usage.batches)
    total = int(usage.batches.sum())
    return {int(size): float(usage.batches[size] / total) for size in seen}


def _histogram(latencies: Floats, slo_ms: float) -> tuple[LatencyBin, ...]:
    if not latencies.size:
        return ()
    edges = slo_ms * np.arange(1, 2 * BINS_TO_SLO + 1) / BINS_TO_SLO
    below = [np.count_nonzero(latencies <= edge) for edge in edges + CLOCK_MS]
    shares = np.diff(below, prepend=0, append=len(latencies)) / len(latencies)
    return tuple(
        LatencyBin(up_to_ms=edge, share=float(share))
        for edge, share in zip([*edges.tolist(), None], shares, strict=True)
    )


def _partitions(service: Service, usage: Usage) -> tuple[SimulatedPartition, ...]:
    first = zip(service.servers, service.there_from_ms, strict=True)
    weights = sum(server.weight for server, begins in first if begins == 0)
    rate = 1000 / service.gap_ms
    return tuple(
        SimulatedPartition(
            gpu=server.gpu,
            partition=server.partition,
            load=rate * server.weight / weights / server.capacity_rps,
            utilisation=float(busy / (there * server.processes)) if there > 0 else None,
        )
        for server, busy, there in zip(service.servers, usage.busy_ms, usage.counted_ms, strict=True)
    )


def _notes(plan: Plan, settings: SimulationSettings, services: Sequence[Service]) -> list[str]:
    notes = []
    if any(gpu.sharing == "mps" for gpu in plan.gpus):
        notes.append(
            "under MPS a batch goes on as fast at every moment as the interference model says of those that are busy "
            "then; what the plan promises holds beside all of them"
            if settings.neighbours == "simulated"
            else "under MPS every batch takes as long as beside all its neighbours, whether they are busy or not"
        )
    if any(server.processes > 1 for service in services for server in service.servers):
        notes.append(
            "processes of one queue begin idle and fall in close after each other, which lasts with large batches; "
            "evenly distributed they would serve sooner"
        )
    if any(partition.turns == "any" for gpu in plan.gpus for partition in gpu.partitions):
        notes.append(
            "where services take turns in any order, each is executed as if it were the last of every round; if "
            "requests are dealt alike, no order makes one later"
        )
    free = sum(not partition.serves for gpu in plan.gpus for partition in gpu.partitions)
    if free and settings.takeover_s is None:
        notes.append(f"{free} partitions are kept free; they take no requests, as nothing says when they would")
    if settings.takeover_s is not None:
        ups = [begins for service in services for begins in service.there_from_ms if begins > 0]
        lost = sum(end < inf for service in services for end in service.ends_ms)
        notes.append(
            f"{len(ups)} of {lost} lost servers are up again in free partitions of their size, "
            f"{settings.takeover_s:g} s after the failure"
        )
    if settings.failures_s:
        notes.append("what a GPU has not completed when it fails is lost; requests after it go to what is left")
    if rare := sum(service.gap_ms == LONGEST_GAP_MS for service in services):
        notes.append(f"{rare} services with less than one request a day are simulated with one")
    return notes
