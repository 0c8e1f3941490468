"""Evaluates a saturating curve: the time of one batch as a function of the batch size."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..model.profile import SaturatingCurve

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def log_time(
    log_floor: float | FloatArray,
    log_per_item: float | FloatArray,
    exponent: float | FloatArray,
    sharpness: float | FloatArray,
    log_batch: FloatArray,
) -> FloatArray:
    """
    Returns the natural logarithm of the time of one batch (time in ms).

    log t = log(exp(s log floor) + exp(s (log per_item + q log b))) / s, computed with logaddexp, so that no power
    overflows or underflows at any sharpness s. A floor of 0 is a `log_floor` of -inf.
    """
    busy = log_per_item + exponent * log_batch
    return np.logaddexp(sharpness * log_floor, sharpness * busy) / sharpness


def batch_time_ms(curve: SaturatingCurve, batch: npt.ArrayLike) -> FloatArray:
    """
    Returns the time of one batch in ms, for every batch size of an array.

    The time never falls as the batch grows. The throughput of the partition in requests/s is
    1000 * processes * batch / time. Batch sizes above `curve.max_batch` extrapolate beyond what was measured in
    memory; it is the caller's to leave them out.

    Parameters
    ----------
    curve
        The curve; formula in `SaturatingCurve`.
    batch
        Batch sizes, each above 0, of any shape.

    Returns
    -------
    An array of the shape of `batch`.

    Raises
    ------
    ValueError
        If a batch size is not above 0.
    """
    sizes = np.asarray(batch, dtype=np.float64)
    if not np.all(sizes > 0):
        raise ValueError("expected batch sizes above 0")
    log_floor = float(np.log(curve.floor_ms)) if curve.floor_ms > 0 else -np.inf
    log_per_item = float(np.log(curve.per_item_ms))
    return np.exp(log_time(log_floor, log_per_item, curve.exponent, curve.sharpness, np.log(sizes)))


def fitted_points(curves: Sequence[SaturatingCurve]) -> tuple[IntArray, IntArray, FloatArray]:
    """
    Returns batch size, number of processes and time of one batch in ms of all that curves say within their range.

    That is every batch size from 1 to `max_batch` of each curve, one curve after the other, in arrays of equal length.
    are computed at once, so that many curves cost little more than few; the formula is that of `batch_time_ms`.
    """
    sizes = [curve.max_batch for curve in curves]
    floor_ms, per_item_ms, exponent, sharpness = (
        np.repeat([getattr(curve, field) for curve in curves], sizes)
        for field in ("floor_ms", "per_item_ms", "exponent", "sharpness")
    )
    batch = np.concatenate([np.arange(1, size + 1, dtype=np.int64) for size in sizes])
    with np.errstate(divide="ignore"):  # a floor of 0 is -inf
        log_floor = np.log(floor_ms)
    time_ms = np.exp(log_time(log_floor, np.log(per_item_ms), exponent, sharpness, np.log(batch.astype(np.float64))))
    return batch, np.repeat([curve.processes for curve in curves], sizes), time_ms
