"""
Workloads that no partition of the fleet can serve, why, and what would be needed.

This is a proof that the problem has no plan. A workload's partition, whatever else a plan holds, carries at most the
greatest rate T at which any partition of the fleet keeps its latency rule: of its own MIG instance or GPU that is what
`ResolvedProblem.capacity_rps` says, and beside neighbours under MPS it is never faster than alone (`alone_on`). Where
services may take turns, that is also what each carries in a round for itself (`alone_in_rounds`): no turn carries more,
as none does in a longer round (turns/turn_rule.py). So r partitions carry at most r T, and where T is 0, or
max_replicas T is less than its rate, no plan serves it. Rates are compared to 1e-9 of themselves, as everywhere. Where
a router knows every server's state, a partition counts for what none exceeds with any router (loosest.py).
"""

from collections.abc import Iterator, Mapping
from math import ceil

import numpy as np

from ..model.plan import Unserved
from .alone import Alone, alone_on
from .interference.prediction import Floats, Ints
from .loosest import loosest
from .resolve import ResolvedProblem, usable_points
from .turns.turn_rule import turn_rule


def unservable(resolved: ResolvedProblem) -> list[Unserved]:
    """
    Returns the workloads that cannot be served however many GPUs there are.

    Each may be one of those that need more rate at once, whose free partitions count as replicas too.
    """
    return unservable_by_sums(loosest(resolved))


def unservable_by_sums(resolved: ResolvedProblem) -> list[Unserved]:
    """Returns the same of plans in which partitions count for what the problem's own rule says of each."""
    largest = resolved.capacity_rps.max(axis=1, initial=0.0)
    alone = {gpu: alone_on(mps, resolved.limit_ms) for gpu, mps in resolved.mps.items()}
    for on_gpu in alone.values():
        largest = np.maximum(largest, on_gpu.greatest_rps)
    largest = np.maximum(largest, alone_in_rounds(resolved))
    found = []
    for w in np.flatnonzero(largest == 0).tolist():
        workload = resolved.problem.workloads[w]
        found.append(Unserved(workload=workload.name, reason=_too_slow(resolved, alone, w)))
    settings = resolved.problem.settings
    spare_rate = settings.spare_rate if settings.spare_services else 0.0
    more = f" with {spare_rate:.0%} more at times (spare_rate)" if spare_rate else ""
    for w, workload in enumerate(resolved.problem.workloads):
        if workload.max_replicas is None or largest[w] == 0:
            continue
        required = float(resolved.required_rps[w]) * (1 + spare_rate)
        if workload.max_replicas * largest[w] < required * (1 - 1e-9):
            needed = ceil(required / largest[w])
            reason = (
                f"{workload.max_replicas} partitions carry at most {workload.max_replicas * largest[w]:.6g} req/s; "
                f"needed are {required:.6g}{more}: max_replicas of {needed} would do"
            )
            found.append(Unserved(workload=workload.name, reason=reason))
    return found


def alone_in_rounds(resolved: ResolvedProblem) -> Floats:
    """Returns the most that each workload carries in a round for itself, on any partition or measured share; or 0."""
    greatest = np.zeros(len(resolved.required_rps))
    if resolved.problem.settings.turns == "none":
        return greatest
    rule, known = turn_rule(resolved.problem), dict[object, tuple[Ints, Floats]]()
    for w, workload in enumerate(resolved.problem.workloads):
        alike = workload.model, workload.gpus, workload.batch_sizes, workload.memory_mib
        if alike not in known:
            points = list(_turns_of(resolved, w))
            known[alike] = np.array([[b for b, _ in points]], dtype=np.int64), np.array([[ms for _, ms in points]])
        greatest[w] = rule.of(np.array([w])).alone_rps(*known[alike]).max(initial=0.0)
    return greatest


def _turns_of(resolved: ResolvedProblem, w: int) -> Iterator[tuple[int, float]]:
    """Yields the batches of one process, and their latencies in ms, wherever a workload may be."""
    workload = resolved.problem.workloads[w]
    for size in resolved.sizes:
        points = usable_points(1, workload, size, resolved.points)
        if points is not None:
            yield from zip(points.batch.tolist(), points.latency_ms.tolist(), strict=True)
    for (model, gpu), table in resolved.tables.items():
        if model == workload.model and (workload.gpus is None or gpu in workload.gpus):
            yield from ((batch, latency_ms) for batch, _, latency_ms in table.points(workload.batch_sizes))


def _too_slow(resolved: ResolvedProblem, alone: Mapping[str, Alone], w: int) -> str:
    """Names the fastest operating point there is, and the SLO that it would meet."""
    problem, workload = resolved.problem, resolved.problem.workloads[w]
    fastest: tuple[float, str] | None = None
    for size in resolved.sizes:
        points = usable_points(problem.settings.max_processes, workload, size, resolved.points)
        if points is None or not points.batch.size:
            continue
        time_ms = resolved.rule.time_ms(points)
        best = int(np.argmin(time_ms))
        processes = int(points.processes[best])
        where = f"{size}, batch {points.batch[best]}, {processes} process{'' if processes == 1 else 'es'}"
        if fastest is None or time_ms[best] < fastest[0]:
            fastest = float(time_ms[best]), where
    for gpu, on_gpu in alone.items():
        if on_gpu.fastest_ms[w] < (fastest[0] if fastest else np.inf):
            where = f"alone on {on_gpu.fastest_percent[w]:g} % of {gpu} under MPS, batch {on_gpu.fastest_batch[w]}"
            fastest = float(on_gpu.fastest_ms[w]), where
    for (model, gpu), table in resolved.tables.items():
        if model == workload.model and (workload.gpus is None or gpu in workload.gpus):
            for batch, share, latency_ms in table.points(workload.batch_sizes):
                if fastest is None or latency_ms < fastest[0]:
                    fastest = latency_ms, f"alone on {share:g} % of {gpu} under MPS, batch {batch}"
    if fastest is None:
        shadow = problem.settings.shadow_percent
        kept = f", shadow_percent {shadow:g}" if resolved.mps and shadow else ""
        return (
            f"its batch sizes, its memory{kept} and max_processes {problem.settings.max_processes} leave no way to run "
            f"{workload.model} on any GPU type that it may use"
        )
    return resolved.rule.too_slow(workload.slo_ms, *fastest)
