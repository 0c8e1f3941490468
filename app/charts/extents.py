"""
Where partitions lie on their GPU's axis, from 0 to 1: MIG instances in their slices, MPS shares in a row, cores of a
CPU in their order.
"""

from dataclasses import dataclass
from itertools import accumulate, groupby

from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.hardware import MigGeometry
from sliceplan.solver.model.plan import Partition, PlannedGpu
from sliceplan.solver.model.sharing import cores_in_words


@dataclass(frozen=True)
class Extent:
    """A part of the axis."""

    start: float
    width: float
    size: str
    """What of the GPU it is, in a word or two: a MIG profile, a percentage."""


def extents_of(gpu: PlannedGpu) -> list[Extent]:
    """Returns a GPU's partitions in their order; shares that add up to more than there is are squeezed to fit."""
    if gpu.sharing == "cores":
        cores = load_cpus()[gpu.gpu].core_count
        return [Extent((one.start or 0) / cores, (one.cores or 0) / cores, one.kind or "") for one in gpu.partitions]
    mig = load_catalogue()[gpu.gpu].mig
    if gpu.sharing == "mig" and mig is not None:
        return [_instance(mig, partition) for partition in gpu.partitions]
    if gpu.sharing == "mps":
        shares = [partition.sm_percent or 0.0 for partition in gpu.partitions]
        whole = max(100.0, sum(shares))
        starts = accumulate(shares, initial=0.0)
        return [Extent(at / whole, share / whole, f"{share:g} %") for at, share in zip(starts, shares, strict=False)]
    return [Extent(0.0, 1.0, "whole GPU") for _ in gpu.partitions]


def free_share(gpu: PlannedGpu) -> Extent | None:
    """Returns what no partition has of a GPU under MPS; None: all is given away, or it is not under MPS."""
    given = sum(partition.sm_percent or 0.0 for partition in gpu.partitions)
    if gpu.sharing != "mps" or given > 100 - 1e-9:
        return None
    return Extent(given / 100, 1 - given / 100, f"{100 - given:g} %")


def free_cores(gpu: PlannedGpu) -> list[Extent]:
    """Returns the runs of cores of a CPU that no partition has, each within one L3 domain; none for a GPU."""
    if gpu.sharing != "cores":
        return []
    cpu = load_cpus()[gpu.gpu]
    taken = {(part.start or 0) + core for part in gpu.partitions for core in range(part.cores or 0)}
    free = [core for core in range(cpu.core_count) if core not in taken]
    runs = [list(run) for _, run in groupby(enumerate(free), lambda at: (at[1] - at[0], at[1] // cpu.domain_cores))]
    return [Extent(run[0][1] / cpu.core_count, len(run) / cpu.core_count, cores_in_words(len(run))) for run in runs]


def domain_ends(gpu: PlannedGpu) -> list[float]:
    """Returns where an L3 domain of a CPU ends and the next one begins, 0 to 1; none for a GPU."""
    if gpu.sharing != "cores":
        return []
    cpu = load_cpus()[gpu.gpu]
    return [core / cpu.core_count for core in range(cpu.domain_cores, cpu.core_count, cpu.domain_cores)]


def _instance(mig: MigGeometry, partition: Partition) -> Extent:
    name = partition.mig_profile or ""
    profile = mig.profile(name)
    units = mig.placement_units
    return Extent((partition.start or 0) / units, (profile.memory_slices if profile else units) / units, name)
