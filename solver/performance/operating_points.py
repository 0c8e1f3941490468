"""
The operating points of a profile on MIG profiles, on the whole GPU, and on cores of a CPU.

Of all points of one partition size, an optimal plan needs only the one that carries most under its latency rule
(latency_rules): any other can be exchanged for it at the same cost (MIG-serving, arXiv 2109.11067, defines a service's
throughput on an instance as this maximum; ParvaGPU, SC'24, sec. IV-B1, calls it the optimal triplet).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..model.interference import Interference
from ..model.profile import MeasuredPoint, Profile, SaturatingCurve
from .interference.igniter import alone
from .interference.prediction import Floats, Ints
from .saturating import fitted_points


@dataclass(frozen=True)
class OperatingPoints:
    """Operating points of one model on one partition size; all arrays have shape (point,)."""

    batch: Ints
    processes: Ints
    latency_ms: Floats
    capacity_rps: Floats
    """Throughput of all processes together."""
    memory_mib: Floats
    """Memory of all processes together; nan: unknown."""

    def where(self, keep: NDArray[np.bool_] | Ints | slice) -> "OperatingPoints":
        """Returns the points marked True, in their order, or those of these indices or of this part."""
        return OperatingPoints(
            self.batch[keep],
            self.processes[keep],
            self.latency_ms[keep],
            self.capacity_rps[keep],
            self.memory_mib[keep],
        )


def joined(some: Sequence[OperatingPoints]) -> OperatingPoints:
    """Returns the points of all of these, in their order."""
    return OperatingPoints(
        np.concatenate([one.batch for one in some]),
        np.concatenate([one.processes for one in some]),
        np.concatenate([one.latency_ms for one in some]),
        np.concatenate([one.capacity_rps for one in some]),
        np.concatenate([one.memory_mib for one in some]),
    )


WHOLE_GPU = "whole GPU"
"""Key, in place of a MIG profile, of the operating points on a GPU that one workload uses whole, without MIG."""


def operating_points(profile: Profile) -> dict[str, OperatingPoints]:
    """
    Returns the operating points of a profile by the name of the partition, and on the whole GPU by WHOLE_GPU.

    On cores of a CPU they are as measured. On a MIG profile they are as measured, or every batch size of the curves. On
    the whole GPU they are as measured at 100 % of it, else what the interference model gives alone at 100 %, for every
    batch size within its range.
    """
    found = {name: _measured(points) for name, points in profile.by_partition.items()}
    found |= _fitted(profile.curves)
    if whole := [point for point in profile.share_points if point.sm_percent == 100]:
        found[WHOLE_GPU] = _measured(whole)
    elif profile.interference is not None:
        found[WHOLE_GPU] = _alone(profile.interference)
    return found


def admissible(
    points: OperatingPoints,
    *,
    max_processes: int,
    batch_sizes: Sequence[int] | None,
    memory_mib: float | None,
    capacity_mib: float | None,
) -> OperatingPoints:
    """
    Returns the points that a workload may use on a partition.

    Parameters
    ----------
    batch_sizes
        Allowed batch sizes; None: all.
    memory_mib
        Memory of one process of the workload; None: what the profile says.
    capacity_mib
        Memory of the partition; None: unknown, then memory excludes nothing.
    """
    keep = points.processes <= max_processes
    if batch_sizes is not None:
        keep &= np.isin(points.batch, batch_sizes)
    if capacity_mib is not None:
        needed = points.memory_mib if memory_mib is None else memory_mib * points.processes
        keep &= ~(needed > capacity_mib)  # nan, unknown, excludes nothing
    return points.where(keep)


def _measured(points: Sequence[MeasuredPoint]) -> OperatingPoints:
    return OperatingPoints(
        batch=np.array([point.batch for point in points], dtype=np.int64),
        processes=np.array([point.processes for point in points], dtype=np.int64),
        latency_ms=np.array([point.latency_ms for point in points]),
        capacity_rps=np.array([point.throughput_rps for point in points]),
        memory_mib=np.array([np.nan if point.memory_mib is None else point.memory_mib for point in points]),
    )


def _alone(interference: Interference) -> OperatingPoints:
    """One process of the model, alone on the GPU."""
    batch = np.arange(interference.measured.min_batch, interference.measured.max_batch + 1, dtype=np.int64)
    predicted = alone(interference, batch)
    return OperatingPoints(
        batch=batch,
        processes=np.ones_like(batch),
        latency_ms=predicted.latency_ms[:, 0],
        capacity_rps=predicted.throughput_rps[:, 0],
        memory_mib=np.full(batch.size, np.nan if interference.memory_mib is None else interference.memory_mib),
    )


def _fitted(curves: Sequence[SaturatingCurve]) -> dict[str, OperatingPoints]:
    """Returns every batch size of the curves, by MIG profile; a profile has a curve for each number of processes."""
    if not curves:
        return {}
    by_profile: dict[str, list[SaturatingCurve]] = {}
    for curve in curves:
        by_profile.setdefault(curve.mig_profile, []).append(curve)
    batch, processes, time_ms = fitted_points([curve for some in by_profile.values() for curve in some])
    points = OperatingPoints(
        batch=batch,
        processes=processes,
        latency_ms=time_ms,
        capacity_rps=1000.0 * processes * batch / time_ms,
        memory_mib=np.full(batch.size, np.nan),
    )
    ends = np.cumsum([sum(curve.max_batch for curve in some) for some in by_profile.values()]).tolist()
    return {name: points.where(slice(*part)) for name, part in zip(by_profile, pairwise([0, *ends]), strict=True)}
