"""
What is counted of a run: its requests in sections, from whose differences intervals are, and what its servers did.

Generated arrivals are repeated, and replications are independent of each other: every tenth is of the same section.
Recorded arrivals come once: their requests are divided in the order of their arrivals into sections of as many each
(batch means); sections that are next to each other then share what waits at their border.
"""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .run import Run
from .service import Service
from .settings import SECTIONS


@dataclass(frozen=True, eq=False)
class Section:
    """Requests of one service that are counted."""

    number: int
    """From 0 to SECTIONS - 1."""
    latency_ms: Floats
    """Shape (request,), in no order; inf: dropped or lost. Those that still wait are not here."""
    wait_ms: float
    """Time that those which were served waited before their batches started, added up."""
    waiting: int
    """Requests that still wait for a batch to fill up when no more come."""


@dataclass(frozen=True, eq=False)
class Usage:
    """What the servers of one service did in the time that is counted."""

    counted_ms: Floats
    """Shape (server,): how much of it a server was there."""
    busy_ms: Floats
    """Shape (server,): execution of all its processes together."""
    batches: Ints
    """Shape (size + 1,): how many batches of each size, up to the largest one seen."""
    longest_queue: int


def sections_of(service: Service, run: Run, number: int) -> list[Section]:
    """Returns the requests of a run in the sections that they are of; `number`: of the replication."""
    if service.runs > 1 and len(service.servers) == 1 and service.never_fails:
        return [
            _section(number % SECTIONS, run, slice(int(run.arrived_ms.searchsorted(service.counted_from_ms)), None))
        ]
    lost = (run.ended_ms == inf) & (run.started_ms != inf)
    counted = (run.arrived_ms >= service.counted_from_ms) | lost
    if service.runs > 1:
        return [_section(number % SECTIONS, run, counted)]
    order = np.argsort(run.arrived_ms, kind="stable")[counted]
    return [_section(i, run, part) for i, part in enumerate(np.array_split(order, SECTIONS))]


def _section(number: int, run: Run, chosen: Ints | np.ndarray | slice) -> Section:
    started, ended, arrived = run.started_ms[chosen], run.ended_ms[chosen], run.arrived_ms[chosen]
    if isfinite(ended.sum()):  # all were served
        return Section(number, ended - arrived, float((started - arrived).sum()), 0)
    known = ~np.isnan(ended)
    served = ended < inf
    return Section(
        number=number,
        latency_ms=(ended[known] - arrived[known]),
        wait_ms=float((started[served] - arrived[served]).sum()),
        waiting=int(len(known) - known.sum()),
    )


def usage_of(service: Service, run: Run) -> Usage:
    """Returns what a service's servers did in a run."""
    begin, number = service.counted_from_ms, len(service.servers)
    busy = np.minimum(run.batch_end_ms, service.until_ms) - np.maximum(run.batch_start_ms, begin)
    counted = run.batch_start_ms >= begin
    return Usage(
        counted_ms=service.counted_of_each_ms,
        busy_ms=np.bincount(run.batch_server, np.maximum(busy, 0.0), number).astype(np.float64),
        batches=np.bincount(run.batch_size[counted]),
        longest_queue=int(run.queue_length[counted].max(initial=0)),
    )


def added(usages: list[Usage]) -> Usage:
    """Returns what servers did in several runs together."""
    batches = np.zeros(max(len(usage.batches) for usage in usages), dtype=np.int64)
    for usage in usages:
        batches[: len(usage.batches)] += usage.batches
    return Usage(
        counted_ms=np.sum([usage.counted_ms for usage in usages], axis=0),
        busy_ms=np.sum([usage.busy_ms for usage in usages], axis=0),
        batches=batches,
        longest_queue=max(usage.longest_queue for usage in usages),
    )
