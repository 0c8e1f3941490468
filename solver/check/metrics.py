"""
Verification of a plan's metrics (definitions: solver/metrics/plan_metrics.py), whose code is not used here.

The sums are taken again over the plan's columns, what is left of a cut GPU is found by another algorithm (room.py), and
power and frequency come with the latencies of their GPU (shares.py). Two figures are those of performance/ in both: the
greatest throughput of a model on a kind of partition, and iGniter's equations.

The metrics say something of plans that are right in themselves; of others they are not looked at.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from operator import attrgetter, ne
from typing import NamedTuple

import numpy as np

from ..metrics.plan_columns import Floats, PlanColumns
from ..model.catalogue import load_catalogue, load_cpus
from ..model.plan import GpuCut, Metrics, Plan
from ..model.profile import Profile
from ..model.sharing import cores_named
from ..performance.prediction import peak_at_share_rps, peak_rps
from .room import room
from .violation import RELATIVE, Violation


class _Left(NamedTuple):
    """The fields of `GpuCut` that follow from the division of a GPU alone."""

    free_compute_slices: int | None
    free_memory_slices: int | None
    wasted_compute_slices: int | None
    wasted_memory_slices: int | None
    addable: dict[str, int]
    free_cores: int | None = None


UNCUT = _Left(None, None, None, None, {})

WITH_THE_LATENCIES = ("power_demand_w", "frequency_mhz")
"""What is said of a GPU under MPS where its latencies are (shares.py)."""

CUT = (*_Left._fields, "free_percent", *WITH_THE_LATENCIES)
UNSHARED = (None, None, None)
"""What is said of the last three of a GPU that is not shared by MPS."""


def wrong_metrics(plan: Plan, columns: PlanColumns, profiles: Mapping[tuple[str, str], Profile]) -> Iterator[Violation]:
    """Yields what the metrics of a plan that is right in itself say that its GPUs and services do not give."""
    stated = plan.metrics
    if stated is None:
        if plan.gpus:
            yield Violation("plan", f"metrics is null, but it has {len(plan.gpus)} GPUs")
        return
    left = [_left(columns, division) for division in range(len(columns.example))]
    yield from _wrong_sums(stated, columns, left, profiles)
    yield from _wrong_cuts(plan, stated.gpus, columns, left)


def _wrong_sums(
    stated: Metrics, columns: PlanColumns, left: list[_Left], profiles: Mapping[tuple[str, str], Profile]
) -> Iterator[Violation]:
    """What is said of all GPUs together."""
    sms_of_kind = np.array([_sms(*kind) for kind in columns.kinds])
    sms = sms_of_kind[columns.kind]
    busy = np.minimum(1.0, columns.rate_rps / _greatest_rps(columns, profiles))
    held, used = float(sms.sum()), float(np.dot(sms[columns.partition], busy))
    alike = np.bincount(columns.division, minlength=len(left))
    there = float(np.dot(alike, [_sms_of_gpu(columns, division) for division in range(len(left))]))
    parts = {
        "internal_slack": 1 - used / held if held else None,
        "external_fragmentation": max(0.0, 1 - held / there) if there else None,
    }
    for name, part in parts.items():
        said = getattr(stated, name)
        if (said is None) != (part is None) or (part is not None and abs(said - part) > RELATIVE):
            yield Violation("plan", f"metrics: {name} is {_figure(said)}; the partitions give {_figure(part)}")
    for name in ("wasted_compute_slices", "wasted_memory_slices"):
        wasted = sum((getattr(one, name) or 0) * times for one, times in zip(left, alike.tolist(), strict=True))
        if getattr(stated, name) != wasted:
            yield Violation("plan", f"metrics: {name} is {getattr(stated, name)}; the GPUs waste {wasted} in all")


def _wrong_cuts(plan: Plan, cuts: tuple[GpuCut, ...], columns: PlanColumns, left: list[_Left]) -> Iterator[Violation]:
    """What is said of each GPU, but for power and frequency."""
    # Almost always all is as it should be, which a loop in C tells.
    stated = list(map(attrgetter(*CUT), cuts))
    expected = [(*one, *UNSHARED) for one in left]
    differs = map(ne, stated, map(expected.__getitem__, columns.division.tolist()))
    by_shares = np.array([plan.gpus[example].sharing == "mps" for example in columns.example.tolist()], dtype=np.bool_)
    looked_at = np.fromiter(differs, dtype=np.bool_, count=len(stated)) | by_shares[columns.division]
    for g in np.flatnonzero(looked_at).tolist():
        gpu = plan.gpus[g]
        said, known = (dict(zip(CUT, of, strict=True)) for of in (stated[g], expected[columns.division[g]]))
        if gpu.sharing == "mps":
            free = max(0.0, 100 - sum(partition.sm_percent or 0.0 for partition in gpu.partitions))
            near = said["free_percent"] is not None and abs(said["free_percent"] - free) <= 100 * RELATIVE
            known |= {"free_percent": said["free_percent"] if near else free}
            known |= {name: said[name] for name in WITH_THE_LATENCIES}
        for name in CUT:
            if said[name] != known[name]:
                message = f"metrics: {name} is {said[name]}; its partitions give {known[name]}"
                yield Violation(gpu.id, message.replace("None", "null"))


def _left(columns: PlanColumns, division: int) -> _Left:
    gpu = columns.gpus[columns.example[division]]
    if gpu.sharing == "cores":
        return UNCUT._replace(free_cores=_cores(gpu.gpu) - sum(partition.cores or 0 for partition in gpu.partitions))
    if gpu.sharing != "mig":
        return UNCUT
    return _Left(*room(gpu.gpu, tuple((partition.start, partition.mig_profile) for partition in gpu.partitions)))


def _greatest_rps(columns: PlanColumns, profiles: Mapping[tuple[str, str], Profile]) -> Floats:
    """Returns the greatest throughput of each service's model on its kind of partition, shape (served,)."""

    kinds = len(columns.kinds)
    number = columns.model * kinds + columns.served_kind
    wanted = np.bincount(number, minlength=kinds * len(columns.models)) > 0
    greatest = np.full(wanted.size, np.nan)
    for pair in np.flatnonzero(wanted).tolist():
        gpu, mig_profile, percent = columns.kinds[pair % kinds]
        profile = profiles[columns.models[pair // kinds], gpu]
        found = peak_rps(profile, mig_profile) if mig_profile else peak_at_share_rps(profile, percent or 100.0)
        greatest[pair] = np.nan if found is None else found
    rps = greatest[number]
    return np.where(np.isnan(rps), columns.capacity_rps, rps)


def _sms_of_gpu(columns: PlanColumns, division: int) -> float:
    """Returns the SMs that partitions of a GPU, divided so, could hold together."""
    gpu = columns.gpus[columns.example[division]]
    if gpu.sharing == "cores":
        return _cores(gpu.gpu)
    mig = load_catalogue()[gpu.gpu].mig
    return _sms(gpu.gpu, mig.full.name if mig and gpu.sharing == "mig" else None, None)


def _cores(cpu: str) -> int:
    return int(load_cpus()[cpu].cores.value)


@cache
def _sms(gpu: str, mig_profile: str | None, percent: float | None) -> float:
    """
    Returns the SMs of a kind of partition: its profile's, or its part of the slices if one is unknown; its share.

    Of a CPU its cores.
    """
    if gpu in load_cpus():
        return cores_named(mig_profile)
    facts = load_catalogue()[gpu]
    if mig_profile is None or facts.mig is None:
        return facts.sm_count.value * (percent or 100.0) / 100
    known = {profile.name: profile.sm_count for profile in facts.mig.profiles}
    if None in known.values():
        slices = {profile.name: profile.compute_slices for profile in facts.mig.profiles}
        return facts.sm_count.value * slices[mig_profile] / facts.mig.compute_slices
    return float(known[mig_profile] or 0)


def _figure(value: float | None) -> str:
    return "null" if value is None else f"{value:.9g}"
