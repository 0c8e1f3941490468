"""What a profile predicts for one operating point, looked up or computed on its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..model.profile import Profile, SaturatingCurve
from .interference.igniter import alone
from .saturating import batch_time_ms, fitted_points


@dataclass(frozen=True)
class Prediction:
    """Latency of one batch, and throughput and memory of all processes together."""

    latency_ms: float
    capacity_rps: float
    memory_mib: float | None


def predict(profile: Profile, partition: str, batch: int, processes: int) -> Prediction | None:
    """
    Returns what a profile says of an operating point on a MIG profile, or on cores of a CPU, by the partition's name.

    None: it was neither measured nor fitted.
    """
    for point in profile.by_partition.get(partition, ()):
        if (point.batch, point.processes) == (batch, processes):
            return Prediction(point.latency_ms, point.throughput_rps, point.memory_mib)
    for curve in profile.curves:
        if (curve.mig_profile, curve.processes) == (partition, processes) and batch <= curve.max_batch:
            time_ms = float(batch_time_ms(curve, np.array([float(batch)]))[0])
            return Prediction(time_ms, 1000.0 * processes * batch / time_ms, None)
    return None


def predict_whole(profile: Profile, batch: int, processes: int) -> Prediction | None:
    """Returns what a profile says of an operating point on a whole GPU; None: it says nothing."""
    whole = [point for point in profile.share_points if point.sm_percent == 100]
    for point in whole:
        if (point.batch, point.processes) == (batch, processes):
            return Prediction(point.latency_ms, point.throughput_rps, point.memory_mib)
    interference = profile.interference
    if whole or interference is None or processes != 1:
        return None
    if not interference.measured.min_batch <= batch <= interference.measured.max_batch:
        return None
    figures = alone(interference, np.array([batch]))
    return Prediction(float(figures.latency_ms[0, 0]), float(figures.throughput_rps[0, 0]), interference.memory_mib)


def predict_batches(
    profile: Profile, partition: str | None, batches: Sequence[int], processes: int
) -> list[Prediction | None]:
    """Returns what `predict` says for each of many batch sizes, or `predict_whole` if there is no partition."""
    if partition is None:
        return [predict_whole(profile, batch, processes) for batch in batches]
    found: dict[int, Prediction] = {
        point.batch: Prediction(point.latency_ms, point.throughput_rps, point.memory_mib)
        for point in profile.by_partition.get(partition, ())
        if point.processes == processes
    }
    for curve in profile.curves:
        if (curve.mig_profile, curve.processes) == (partition, processes):
            sizes = np.array([batch for batch in batches if batch <= curve.max_batch], dtype=np.int64)
            times = batch_time_ms(curve, sizes)
            rates = 1000.0 * processes * sizes / times
            for batch, time_ms, rps in zip(sizes.tolist(), times.tolist(), rates.tolist(), strict=True):
                found[batch] = Prediction(time_ms, rps, None)
    return [found.get(batch) for batch in batches]


def peak_at_share_rps(profile: Profile, sm_percent: float) -> float | None:
    """Returns the greatest throughput of a model alone at a share of the GPU; None: nothing is known of it."""
    measured = [point.throughput_rps for point in profile.share_points if point.sm_percent == sm_percent]
    if profile.interference is None:
        return max(measured, default=None)
    extent = profile.interference.measured
    figures = alone(profile.interference, np.arange(extent.min_batch, extent.max_batch + 1), sm_percent)
    return float(figures.throughput_rps.max())


def peak_rps(profile: Profile, partition: str) -> float | None:
    """Returns the greatest throughput of any operating point on a MIG profile, or on cores; None: no point."""
    measured = [point.throughput_rps for point in profile.by_partition.get(partition, ())]
    if curves := tuple([curve for curve in profile.curves if curve.mig_profile == partition]):
        measured.append(_peak_of_rps(curves))
    return max(measured, default=None)


@lru_cache(maxsize=4_096)
def _peak_of_rps(curves: tuple[SaturatingCurve, ...]) -> float:
    """Returns the greatest throughput that curves say; every plan is measured and checked by it, of the same models."""
    batch, processes, time_ms = fitted_points(curves)
    return float(np.max(1000.0 * processes * batch / time_ms))
