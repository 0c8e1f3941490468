"""
The records of a plan's partitions: what each serves, at which figures, and which share of its workload's rate.

A plan may have millions of partitions. So figures are computed for all of them at once, partitions of one size that
serve one workload share one record of that, and the records are not validated a second time (model/base.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.base import records_of
from ..model.numbering import different
from ..model.plan import Partition, Served
from ..model.problem import Workload
from ..model.rounding import RELATIVE
from ..performance.interference.prediction import Floats, Ints
from ..performance.latency_rules.assembly import held_ms
from ..performance.latency_rules.execution import Execution
from ..performance.latency_rules.full_batch import batch_time_ms
from ..performance.latency_rules.rule import LatencyRule
from ..performance.latency_rules.rules import percentile_in_turns, rule_of
from ..performance.latency_rules.server_sets import carried_together, is_by_set
from ..performance.operating_points import OperatingPoints
from ..performance.resolve import ResolvedProblem
from .allocated import SPARE

SHARED = -1
"""Stands for the size of a share under MPS."""


@dataclass(frozen=True)
class ResidentFigures:
    """A share of a GPU under MPS and what its workload achieves there."""

    gpu: str
    sm_percent: float
    batch: int
    latency_ms: float
    capacity_rps: float
    causes_ms: dict[str, float]


@dataclass(frozen=True, eq=False)
class Figures:
    """The partitions of a plan in their order, each without its share of its workload's rate."""

    workload: Ints
    """Shape (partition,); SPARE: kept free."""
    size: Ints
    """Shape (partition,): index into ResolvedProblem.sizes; SHARED: a share under MPS."""
    start: Sequence[int | None]
    """Shape (partition,): placement unit; None: no MIG instance."""
    residents: Sequence[ResidentFigures]
    """Of the shares under MPS, in their order."""


def partition_records(resolved: ResolvedProblem, figures: Figures) -> list[Partition]:
    """
    Returns the partitions with the rates that they take.

    A workload's rate is split over its partitions in proportion to what they carry under the latency rule, so that all
    of them are loaded equally; where that is no sum, to what they carry beside each other. Where that is too little, as
    with planners of a rule of their own, it is what their rule allows that counts: they miss a promise, and nobody gets
    more than its throughput.
    """
    cut, serves = figures.size != SHARED, figures.workload != SPARE
    own, shared = np.flatnonzero(cut & serves), np.flatnonzero(~cut)
    capacity = np.zeros(figures.size.size)
    capacity[own] = resolved.capacity_rps[figures.workload[own], figures.size[own]]
    capacity[shared] = _allowed_rps(resolved, resolved.rule, figures.workload[shared], figures.residents)
    together = np.zeros(figures.size.size)
    if is_by_set(resolved.problem.settings):
        rows = np.concatenate([own, shared])
        together[rows] = _together(resolved, figures, own, rows)
        carried = np.bincount(figures.workload[rows], together[rows], resolved.required_rps.size)
        is_enough = carried >= resolved.required_rps * (1 - RELATIVE)
        capacity[rows] = np.where(is_enough[figures.workload[rows]], together[rows], capacity[rows])
    rate = np.zeros(figures.size.size)
    rate[serves] = _rates(resolved, figures.workload[serves], capacity[serves])

    # One record for all partitions of one size that serve one workload.
    keys = figures.workload[own] * len(resolved.sizes) + figures.size[own]
    _, first, alike = different(keys)
    # Made in the order in which the plan is read, as records that lie together in memory are read sooner.
    order = np.argsort(first)
    alone, alike = own[first[order]], np.argsort(order)[alike]
    records = served_alone(resolved, figures.workload[alone], figures.size[alone], rate[alone], together[alone])
    beside = served_beside(resolved, figures.workload[shared], figures.residents, rate[shared], together[shared])
    served: list[tuple[Served, ...]] = [()] * figures.size.size
    of_record = list(zip(records, strict=True))
    for row, record in zip(own.tolist(), alike.tolist(), strict=True):
        served[row] = of_record[record]
    for row, resident_record in zip(shared.tolist(), beside, strict=True):
        served[row] = (resident_record,)
    profile_of = [size.mig.name if size.mig else None for size in resolved.sizes]
    profile_of.append(None)  # at SHARED, which is the last
    cores_of = [*(size.cores for size in resolved.sizes), None]
    percent: list[float | None] = [None] * figures.size.size
    for row, resident in zip(shared.tolist(), figures.residents, strict=True):
        percent[row] = resident.sm_percent
    return records_of(
        Partition,
        mig_profile=list(map(profile_of.__getitem__, figures.size.tolist())),
        start=figures.start,
        sm_percent=percent,
        serves=served,
        cores=list(map(cores_of.__getitem__, figures.size.tolist())),
    )


def _rates(resolved: ResolvedProblem, workload: Ints, capacity_rps: Floats) -> Floats:
    """Returns the share of its workload's rate that each partition takes, shape (partition,)."""
    total = np.bincount(workload, weights=capacity_rps, minlength=resolved.required_rps.size)
    rate = resolved.required_rps[workload] * (capacity_rps / total[workload])
    # Where all partitions together suffice, no rounding may put one above its capacity.
    enough = total >= resolved.required_rps * (1 - 1e-9)
    return np.where(enough[workload], np.minimum(capacity_rps, rate), rate)


def _together(resolved: ResolvedProblem, figures: Figures, own: Ints, rows: Ints) -> Floats:
    """
    Returns what partitions carry beside the others of their workloads, shape (row,).

    `rows`: those of partitions that are one workload's own, `own`, then the shares under MPS.
    """
    of = figures.workload[own], figures.size[own]
    shares = _points_of(figures.residents)
    points = OperatingPoints(
        np.concatenate([resolved.batch[of], shares.batch]),
        np.concatenate([resolved.processes[of], shares.processes]),
        np.concatenate([resolved.latency_ms[of], shares.latency_ms]),
        np.concatenate([resolved.throughput_rps[of], shares.capacity_rps]),
        np.full(rows.size, np.nan),
    )
    rule = percentile_in_turns(resolved.problem.settings)
    return carried_together(rule, points, figures.workload[rows], resolved.asked)


def served_alone(
    resolved: ResolvedProblem, workload: Ints, size: Ints, rate_rps: Floats, together_rps: Floats
) -> list[Served]:
    """Returns the records of what partitions serve that are one workload's own; `together_rps`: as `_together`."""
    workloads, sizes = resolved.problem.workloads, resolved.sizes
    basis = {
        (model, k): profile.basis(one.sharing)
        for (model, gpu), profile in resolved.profiles.items()
        for k, one in enumerate(sizes)
        if one.gpu == gpu
    }
    of, number = (workload, size), workload.tolist()
    figures = resolved.latency_ms[of], resolved.throughput_rps[of]
    models = map([one.model for one in workloads].__getitem__, number)
    return records_of(
        Served,
        workload=list(map([one.name for one in workloads].__getitem__, number)),
        batch=resolved.batch[of].tolist(),
        processes=resolved.processes[of].tolist(),
        latency_ms=figures[0].tolist(),
        capacity_rps=figures[1].tolist(),
        rate_rps=rate_rps.tolist(),
        basis=list(map(basis.__getitem__, zip(models, size.tolist(), strict=True))),
        promised_rps=_promised_rps(resolved, workload, size, together_rps),
        dispatch_after_ms=_dispatch_after_ms(resolved, workload, resolved.batch[of], resolved.processes[of], *figures),
    )


def _dispatch_after_ms(
    resolved: ResolvedProblem, workload: Ints, batch: Ints, processes: Ints, latency_ms: Floats, throughput_rps: Floats
) -> Sequence[float | None]:
    """Returns how long batches that are not full are held for the problem's promise; None: they are not."""
    if resolved.problem.settings.latency != "assembly":
        return [None] * workload.size
    points = OperatingPoints(batch, processes, latency_ms, throughput_rps, np.full(workload.size, np.nan))
    return list(held_ms(batch, batch_time_ms(points), resolved.asked.slo_ms[workload]).tolist())


def _promised_rps(
    resolved: ResolvedProblem, workload: Ints, size: Ints, together_rps: Floats
) -> Sequence[float | None]:
    """
    Returns the greatest rates at which the problem's promise holds; None: it is one of execution, so at the throughput.

    A planner with a latency rule of its own may have chosen points at which it holds at no rate.
    """
    rule = rule_of(resolved.problem.settings)
    if isinstance(rule, Execution):
        return [None] * workload.size
    if is_by_set(resolved.problem.settings):
        return list(together_rps.tolist())
    if rule == resolved.rule:
        return list(resolved.capacity_rps[workload, size].tolist())
    of = workload, size
    points = OperatingPoints(
        resolved.batch[of],
        resolved.processes[of],
        resolved.latency_ms[of],
        resolved.throughput_rps[of],
        np.full(workload.size, np.nan),
    )
    return list(rule.greatest_rps(points, resolved.asked.of(workload)).tolist())


def _allowed_rps(
    resolved: ResolvedProblem, rule: LatencyRule, workload: Ints, residents: Sequence[ResidentFigures]
) -> Floats:
    """Returns the greatest rates that a rule allows residents of GPUs under MPS; with execution their throughput."""
    throughput = np.array([resident.capacity_rps for resident in residents], dtype=np.float64)
    if isinstance(rule, Execution):
        return throughput
    return rule.greatest_rps(_points_of(residents), resolved.asked.of(workload))


def _points_of(residents: Sequence[ResidentFigures]) -> OperatingPoints:
    """Returns the operating points of shares under MPS."""
    return OperatingPoints(
        np.array([resident.batch for resident in residents], dtype=np.int64),
        np.ones(len(residents), dtype=np.int64),
        np.array([resident.latency_ms for resident in residents], dtype=np.float64),
        np.array([resident.capacity_rps for resident in residents], dtype=np.float64),
        np.full(len(residents), np.nan),
    )


def served_beside(
    resolved: ResolvedProblem,
    workload: Ints,
    residents: Sequence[ResidentFigures],
    rate_rps: Floats,
    together_rps: Floats,
) -> list[Served]:
    """Returns the records of what shares under MPS serve; `together_rps`: as `_together`."""
    points = _points_of(residents)
    served = [resolved.problem.workloads[w] for w in workload.tolist()]
    pairs = list(zip(served, residents, strict=True))
    return records_of(
        Served,
        workload=[one.name for one in served],
        batch=[resident.batch for resident in residents],
        processes=[1] * len(residents),
        latency_ms=[resident.latency_ms for resident in residents],
        capacity_rps=[resident.capacity_rps for resident in residents],
        rate_rps=rate_rps.tolist(),
        basis=[resolved.profiles[one.model, resident.gpu].basis("mps") for one, resident in pairs],
        causes_ms=[resident.causes_ms for resident in residents],
        memory_mib=[_memory_mib(resolved, resident.gpu, one) for one, resident in pairs],
        promised_rps=_promised_beside(resolved, workload, residents, together_rps),
        dispatch_after_ms=_dispatch_after_ms(
            resolved, workload, points.batch, points.processes, points.latency_ms, points.capacity_rps
        ),
    )


def _promised_beside(
    resolved: ResolvedProblem, workload: Ints, residents: Sequence[ResidentFigures], together_rps: Floats
) -> Sequence[float | None]:
    """Returns the same as `_promised_rps` of shares under MPS."""
    rule = rule_of(resolved.problem.settings)
    if isinstance(rule, Execution):
        return [None] * len(residents)
    if is_by_set(resolved.problem.settings):
        return list(together_rps.tolist())
    return list(_allowed_rps(resolved, rule, workload, residents).tolist())


def _memory_mib(resolved: ResolvedProblem, gpu: str, workload: Workload) -> float | None:
    """Returns the memory of one process under MPS: the workload's own figure, or its profile's."""
    known = resolved.profiles[workload.model, gpu].interference
    return workload.memory_mib or (known.memory_mib if known else None)
