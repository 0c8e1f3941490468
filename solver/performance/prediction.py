"""What a profile predicts for one operating point, looked up or computed on its own."""

from dataclasses import dataclass

import numpy as np

from ..model.profile import Profile
from .saturating import batch_time_ms


@dataclass(frozen=True)
class Prediction:
    """Latency of one batch, and throughput and memory of all processes together."""

    latency_ms: float
    capacity_rps: float
    memory_mib: float | None


def predict(profile: Profile, mig_profile: str, batch: int, processes: int) -> Prediction | None:
    """Returns what a profile says of an operating point; None: it was neither measured nor fitted."""
    for point in profile.points:
        if (point.mig_profile, point.batch, point.processes) == (mig_profile, batch, processes):
            return Prediction(point.latency_ms, point.throughput_rps, point.memory_mib)
    for curve in profile.curves:
        if (curve.mig_profile, curve.processes) == (mig_profile, processes) and batch <= curve.max_batch:
            time_ms = float(batch_time_ms(curve, np.array([float(batch)]))[0])
            return Prediction(time_ms, 1000.0 * processes * batch / time_ms, None)
    return None


def peak_rps(profile: Profile, mig_profile: str) -> float | None:
    """Returns the greatest throughput that any operating point reaches on a MIG profile; None: no point."""
    measured = [point.throughput_rps for point in profile.points if point.mig_profile == mig_profile]
    fitted = [
        float(np.max(1000.0 * curve.processes * batch / batch_time_ms(curve, batch)))
        for curve in profile.curves
        if curve.mig_profile == mig_profile
        for batch in [np.arange(1.0, curve.max_batch + 1)]
    ]
    return max(measured + fitted, default=None)
