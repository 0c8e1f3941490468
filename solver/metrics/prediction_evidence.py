"""What each prediction of a plan rests on: the measured range of its profile, and where it goes beyond."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem
from ..model.profile import Profile, Quality
from .measured_extent import MeasuredExtent, beyond


@dataclass(frozen=True)
class PredictionEvidence:
    """One operating point of a plan, and what is known there."""

    workload: str
    model: str
    gpu: str
    """GPU type."""
    on: str
    """Id of the GPU."""
    partition: str
    """MIG profile, cores, share or `whole GPU`."""
    mig_profile: str | None
    sm_percent: float | None
    """Share of the GPU, 100 if it is used whole; None: on a MIG instance, or on cores."""
    batch: int
    processes: int
    latency_ms: float
    capacity_rps: float
    basis: Quality
    extent: MeasuredExtent | None
    """None: there is no profile."""
    beyond: tuple[str, ...]
    """What of it lies outside the measured range, in words; empty: nothing."""


def prediction_evidence(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> Iterator[PredictionEvidence]:
    """
    Yields what every prediction of a plan rests on, in the plan's order.

    Parameters
    ----------
    profiles
        The profiles that the plan was made with; a later one wins over an earlier one of the same model and GPU.
    """
    by_key = problem.profiles_over(profiles)
    model_of = {workload.name: workload.model for workload in problem.workloads}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                model = model_of.get(served.workload, "")
                yield _evidence(gpu, partition, served, model, by_key.get((model, gpu.gpu)))


def _evidence(
    gpu: PlannedGpu, partition: Partition, served: Served, model: str, profile: Profile | None
) -> PredictionEvidence:
    percent = None if gpu.sharing in ("mig", "cores") else (partition.sm_percent or 100.0)
    extent = None if profile is None else _extent(profile, partition.kind, percent, served)
    size = partition.kind or ("whole GPU" if gpu.sharing == "exclusive" else f"{percent:g} %")
    return PredictionEvidence(
        workload=served.workload,
        model=model,
        gpu=gpu.gpu,
        on=gpu.id,
        partition=size,
        mig_profile=partition.mig_profile,
        sm_percent=percent,
        batch=served.batch,
        processes=served.processes,
        latency_ms=served.latency_ms,
        capacity_rps=served.capacity_rps,
        basis=served.basis,
        extent=extent,
        beyond=() if extent is None else tuple(map(str, beyond(extent, served.batch, percent))),
    )


def _extent(profile: Profile, kind: str | None, percent: float | None, served: Served) -> MeasuredExtent | None:
    if percent is None:
        batches = [point.batch for point in profile.by_partition.get(kind or "", ())]
        for curve in profile.curves:
            if (curve.mig_profile, curve.processes) == (kind, served.processes):
                batches += [1, curve.max_batch]
        return MeasuredExtent((min(batches), max(batches)), None) if batches else None
    if served.basis == "measured":
        batches = [point.batch for point in profile.share_points if point.sm_percent == percent]
        return MeasuredExtent((min(batches), max(batches)), (percent, percent)) if batches else None
    if profile.interference is None:
        return None
    known = profile.interference.measured
    return MeasuredExtent((known.min_batch, known.max_batch), (known.min_percent, known.max_percent))
