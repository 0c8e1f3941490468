"""Where partitions lie on their GPU's axis, from 0 to 1: MIG instances in their slices, MPS shares in a row."""

from dataclasses import dataclass
from itertools import accumulate

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.hardware import MigGeometry
from sliceplan.solver.model.plan import Partition, PlannedGpu


@dataclass(frozen=True)
class Extent:
    """A part of the axis."""

    start: float
    width: float
    size: str
    """What of the GPU it is, in a word or two: a MIG profile, a percentage."""


def extents_of(gpu: PlannedGpu) -> list[Extent]:
    """Returns a GPU's partitions in their order; shares that add up to more than there is are squeezed to fit."""
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


def _instance(mig: MigGeometry, partition: Partition) -> Extent:
    name = partition.mig_profile or ""
    profile = mig.profile(name)
    units = mig.placement_units
    return Extent((partition.start or 0) / units, (profile.memory_slices if profile else units) / units, name)
