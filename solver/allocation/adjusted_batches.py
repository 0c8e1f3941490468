"""
A plan with the batches and shares that BDA chooses (settings.bda), whoever made it.

Services stay where they stand, and every other figure of the plan follows: who is how late by which cause, what each
carries, and how the rate of a service with several partitions is split. Partitions that are not shares under MPS stay
as they are. What is proven of all plans, a bound on the cost or a limit of what could be carried, is of this one too.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ..model.judged import capacity_of
from ..model.plan import BatchAdjustment, Partition, Plan, PlannedGpu
from ..model.rounding import RELATIVE
from ..performance.batch_adjustment import Adjusted, Judge, Shares, adjusted
from ..performance.interference.prediction import Floats, Ints
from ..performance.latency_rules.rules import rule_of
from ..performance.mps_sharing import MpsType
from ..performance.operating_points import OperatingPoints
from ..performance.resolve import ResolvedProblem
from .allocated import MpsGpu, Resident
from .assembly import resident_figures
from .partition_records import served_beside


def with_adjusted_batches(resolved: ResolvedProblem, plan: Plan) -> Plan:
    """Returns a plan by the problem's objective with the batches and shares of BDA, and what they gain."""
    shared = [i for i, gpu in enumerate(plan.gpus) if gpu.sharing == "mps"]
    if not shared:
        return plan
    workloads = resolved.problem.workloads
    solo = None if plan.capacity is None else plan.capacity.solo_rps
    weights = np.array([1.0 if solo is None else 1 / solo[one.name] for one in workloads])
    judges = {gpu: judge_of(resolved, mps) for gpu, mps in resolved.mps.items()}
    gpus, before, after = list(plan.gpus), 0.0, 0.0
    for i in shared:
        gpu = plan.gpus[i]
        gpus[i], found = _adjusted(resolved, resolved.mps[gpu.gpu], judges[gpu.gpu], gpu, weights)
        before, after = before + found.before, after + found.after
    changed = plan.model_copy(update={"gpus": tuple(_with_rates(gpus))})
    pairs = (zip(plan.gpus[i].partitions, changed.gpus[i].partitions, strict=True) for i in shared)
    gain = BatchAdjustment(before=before, after=after, changed=sum(_is_other(*two) for one in pairs for two in one))
    update: dict[str, object] = {"batch_adjustment": gain}
    if (stated := plan.capacity) is not None:
        update["capacity"] = capacity_of(changed, stated.weights, solo, limit=stated.limit, one_more=stated.one_more)
    return changed.model_copy(update=update)


def _is_other(before: Partition, after: Partition) -> bool:
    """Tells whether a partition has another batch or share."""
    return before.sm_percent != after.sm_percent or before.serves[0].batch != after.serves[0].batch


def _adjusted(
    resolved: ResolvedProblem, mps: MpsType, judge: Judge, gpu: PlannedGpu, weights: Floats
) -> tuple[PlannedGpu, Adjusted]:
    """Returns a GPU with other batches and shares, each partition with the rate that it had, and what that gains."""
    row = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    served = [partition.serves[0] for partition in gpu.partitions]
    workload = np.array([row[one.workload] for one in served])
    percent = np.array([partition.sm_percent or 0.0 for partition in gpu.partitions])
    units = np.rint(percent / mps.unit_percent).astype(np.int64)
    rate_rps = np.array([one.rate_rps for one in served])
    found = adjusted(mps, Shares(workload, np.array([one.batch for one in served]), units), rate_rps, weights, judge)
    residents = tuple(
        Resident(w, batch, mps.percent_of(own))
        for w, batch, own in zip(
            workload.tolist(), found.shares.batch.tolist(), found.shares.units.tolist(), strict=True
        )
    )
    prediction = mps.model.predict(workload, found.shares.batch, mps.percent(found.shares.units))
    figures = resident_figures(MpsGpu(gpu.gpu, residents), prediction)
    records = served_beside(resolved, workload, figures, rate_rps, np.zeros(len(residents)))
    partitions = tuple(
        partition.model_copy(update={"sm_percent": one.percent, "serves": (record,)})
        for partition, one, record in zip(gpu.partitions, residents, records, strict=True)
    )
    return gpu.model_copy(update={"partitions": partitions}), found


def judge_of(resolved: ResolvedProblem, mps: MpsType) -> Judge:
    """Returns how residents of a GPU type are judged: by what the problem promises, whatever rule its planner has."""
    rule = rule_of(resolved.problem.settings)

    def judge(workload: Ints, batch: Ints, percent: Floats) -> tuple[Floats, Floats]:
        figures = mps.model.predict(workload, batch, percent)
        points = OperatingPoints(
            batch.ravel(),
            np.ones(batch.size, dtype=np.int64),
            figures.latency_ms.ravel(),
            figures.throughput_rps.ravel(),
            np.full(batch.size, np.nan),
        )
        carried = rule.greatest_rps(points, resolved.asked.of(workload.ravel()))
        return carried.reshape(batch.shape), figures.latency_ms

    return judge


def _with_rates(gpus: Sequence[PlannedGpu]) -> Iterator[PlannedGpu]:
    """
    Yields GPUs whose partitions of a service are loaded equally, as in every plan (partition_records.py).

    Where they carry too little together, as in a plan that misses SLOs, rates stay.
    """
    total: dict[str, float] = {}
    carried: dict[str, float] = {}
    for served in (one for gpu in gpus for partition in gpu.partitions for one in partition.serves):
        total[served.workload] = total.get(served.workload, 0.0) + served.rate_rps
        carried[served.workload] = carried.get(served.workload, 0.0) + served.carries_rps
    enough = {name for name, rps in carried.items() if rps >= total[name] * (1 - RELATIVE)}

    def loaded(partition: Partition) -> Partition:
        served = [
            one.model_copy(
                update={"rate_rps": min(one.carries_rps, total[one.workload] * one.carries_rps / carried[one.workload])}
            )
            if one.workload in enough
            else one
            for one in partition.serves
        ]
        return partition.model_copy(update={"serves": tuple(served)})

    for gpu in gpus:
        yield gpu.model_copy(update={"partitions": tuple(map(loaded, gpu.partitions))})
