"""Schedulers side by side at the rates of a problem, each judged by the full rule, the exact optimum as the line."""

from collections.abc import Sequence

import numpy as np

from ..model.inss_report import InssCarried, InssServed
from ..model.plan import Status
from ..performance.interference.prediction import Floats
from ..runtime.progress import report
from .batch_queue import dispatched_early, full_batches, poisson_arrivals
from .decision import Decision, Judged, judged
from .exact.most_capacity import most_capacity
from .exact.partition import Exact
from .schedulers.exact import EXACT
from .schedulers.scheduler import Scheduler, Task


def compared(schedulers: Sequence[Scheduler], task: Task, tasks: int) -> tuple[Exact | None, list[InssCarried]]:
    """
    Returns the exact planner's answer (None: proven, no decision keeps all limits) and a row a scheduler, best first.

    Parameters
    ----------
    tasks
        Poisson tasks of each model that are simulated.
    """
    report("the exact optimum")
    exact = most_capacity(task.latencies, task.rates_rps, task.effort, weights=task.weights, spare=task.spare)
    rows = []
    for scheduler in schedulers:
        report(scheduler.name)
        is_exact = scheduler is EXACT
        found = None if exact is None else exact.decision
        decision = found if is_exact else scheduler.decide(task)
        rows.append(_row(scheduler.name, task, decision, exact, tasks, is_exact=is_exact))
    return exact, sorted(rows, key=lambda row: (row.status is Status.VIOLATING, -(row.weighted or 0.0), row.scheduler))


def _row(
    name: str, task: Task, decision: Decision | None, exact: Exact | None, tasks: int, *, is_exact: bool
) -> InssCarried:
    if decision is None:
        status = Status.INFEASIBLE if is_exact and exact is None else Status.NONE_FOUND
        return InssCarried(
            scheduler=name, status=status, capacity_rps=None, weighted=None, of_exact=None, late_full=None,
            late_early=None, served=(),
        )  # fmt: skip
    verdict = judged(task.latencies, decision, task.rates_rps, task.spare)
    weighted = float(task.weights @ verdict.capacity_rps)
    full, early = _late(task, decision, verdict, tasks)
    proven = is_exact and exact is not None and exact.is_optimal
    status = Status.VIOLATING if not verdict.holds else Status.OPTIMAL if proven else Status.FEASIBLE
    return InssCarried(
        scheduler=name,
        status=status,
        capacity_rps=float(verdict.capacity_rps.sum()),
        weighted=weighted,
        of_exact=None if exact is None else weighted / exact.limit,
        late_full=full,
        late_early=early,
        served=tuple(_served(task, decision, verdict, i) for i in range(len(task.rates_rps))),
    )


def _served(task: Task, decision: Decision, verdict: Judged, i: int) -> InssServed:
    latencies = task.latencies
    k, units, batch = int(decision.gpu[i]), int(decision.units[i]), int(decision.batch[i])
    gpu = latencies.problem.gpus[latencies.type_of_gpu[k]] if k >= 0 else None
    ms = float(verdict.ms[i]) if np.isfinite(verdict.ms[i]) else None
    return InssServed(
        model=latencies.problem.models[i].model,
        gpu=k if k >= 0 else None,
        gpu_type=None if gpu is None else gpu.type,
        units=units if gpu is not None else 0,
        percent=0.0 if gpu is None else gpu.share(units),
        batch=batch,
        latency_ms=ms,
        assembly_ms=None if ms is None else (batch - 1) * 1000 / float(task.rates_rps[i]),
        capacity_rps=float(verdict.capacity_rps[i]),
        dispatch_after_ms=None if ms is None else float(latencies.slo_ms[i]) - ms,
        missed=verdict.missed[i],
    )


def _late(task: Task, decision: Decision, verdict: Judged, tasks: int) -> tuple[float, float]:
    """Returns the shares of all requests that are late, full batches and early ones; those of no place are all late."""
    shares = np.ones((2, len(task.rates_rps)))
    for i, rate in enumerate(task.rates_rps.tolist()):
        ms, batch = float(verdict.ms[i]), int(decision.batch[i])
        if not np.isfinite(ms):
            continue
        slo = float(task.latencies.slo_ms[i])
        arrivals = poisson_arrivals(rate, tasks, task.seed + i)
        starts = full_batches(arrivals, batch, ms)
        taken: Floats = np.repeat(starts + ms, batch) - arrivals[: len(starts) * batch]
        shares[0, i] = np.mean(taken > slo + 1e-9)
        shares[1, i] = np.mean(dispatched_early(arrivals, batch, ms, slo - ms) > slo + 1e-9)
    full, early = shares @ (task.rates_rps / task.rates_rps.sum())
    return float(full), float(early)
