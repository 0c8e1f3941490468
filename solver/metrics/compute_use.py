"""
How much of the compute of each partition of a plan is at work, and how much is idle.

The SM activity that ParvaGPU measures (SC'24, eq. 3) is estimated as the rate that a service takes over the greatest
throughput that any operating point of its model reaches on that kind of partition, whatever its latency.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..model.catalogue import load_catalogue, load_cpus
from ..model.numbering import different
from ..model.plan import Plan
from ..model.problem import Problem, Sharing
from ..model.profile import Profile
from ..model.sharing import cores_named
from ..performance.prediction import peak_at_share_rps, peak_rps
from .plan_columns import Floats, Ints, PartitionKind, PlanColumns, plan_columns


@dataclass(frozen=True)
class ComputeUse:
    """SMs of a plan's partitions and GPUs; on a CPU cores stand in their place."""

    first: Ints
    """Shape (gpu,): its first partition; the others follow."""
    whole_sms: Floats
    """Shape (gpu,): what its partitions could hold together."""
    sms: Floats
    """Shape (partition,): what it holds."""
    busy_sms: Floats
    """Shape (partition,): what of that is at work, on average."""


def compute_use(
    problem: Problem, plan: Plan, profiles: Iterable[Profile], columns: PlanColumns | None = None
) -> ComputeUse:
    """Returns how much of a plan's partitions is at work. `columns`: the plan's, if they were read before."""
    columns = plan_columns(problem, plan, columns)
    sms = allocated(columns)
    busy = np.bincount(
        columns.partition,
        weights=sms[columns.partition] * activity(columns, problem.profiles_over(profiles)),
        minlength=len(sms),
    )
    whole = np.array([whole_sms(gpu.gpu, gpu.sharing) for gpu in plan.gpus])
    return ComputeUse(columns.first, whole, sms, np.minimum(busy, sms))


def allocated(columns: PlanColumns) -> Floats:
    """Returns the SMs that each partition holds, shape (partition,)."""
    return np.array([allocated_sms(kind) for kind in columns.kinds])[columns.kind]


def activity(columns: PlanColumns, profiles: Mapping[tuple[str, str], Profile]) -> Floats:
    """Returns which part of its partition's SMs each service keeps at work, 0 to 1, shape (served,)."""
    return np.minimum(1.0, columns.rate_rps / reachable_rps(columns, profiles))


def allocated_sms(kind: PartitionKind) -> float:
    """Returns the SMs that a partition of a kind holds."""
    gpu, mig_profile, percent = kind
    if gpu in load_cpus():
        return float(cores_named(mig_profile))
    return _sms(gpu, mig_profile) * (1.0 if mig_profile else (percent or 100.0) / 100)


@cache
def whole_sms(gpu: str, sharing: Sharing) -> float:
    """Returns the SMs that the partitions of a GPU could hold together, or the cores of a CPU."""
    if sharing == "cores":
        return float(load_cpus()[gpu].core_count)
    mig = load_catalogue()[gpu].mig
    return _sms(gpu, mig.full.name if mig and sharing == "mig" else None)


def reachable_rps(columns: PlanColumns, profiles: Mapping[tuple[str, str], Profile]) -> Floats:
    """Returns the greatest throughput of each service's model on its kind of partition, shape (served,)."""
    pairs, _, of_row = different(columns.model * len(columns.kinds) + columns.served_kind)
    peaks: list[float | None] = []
    for m, k in zip(*np.divmod(pairs, len(columns.kinds)), strict=True):
        gpu, mig_profile, percent = columns.kinds[k]
        profile = profiles.get((columns.models[m], gpu))
        if profile is None:
            peaks.append(None)
        else:
            peaks.append(
                peak_rps(profile, mig_profile) if mig_profile else peak_at_share_rps(profile, percent or 100.0)
            )
    peak_of = np.array([peak or np.nan for peak in peaks])[of_row]
    return np.where(np.isnan(peak_of), columns.capacity_rps, peak_of)


@cache
def _sms(name: str, mig_profile: str | None) -> float:
    """Returns the SMs of a MIG profile, or of the whole GPU."""
    gpu = load_catalogue()[name]
    profile = gpu.mig.profile(mig_profile) if gpu.mig and mig_profile else None
    if gpu.mig is None or profile is None:
        return gpu.sm_count.value
    if any(other.sm_count is None for other in gpu.mig.profiles):
        return gpu.sm_count.value * profile.compute_slices / gpu.mig.compute_slices
    return float(profile.sm_count or 0)
