"""Evaluates a saturating curve: the time of one batch as a function of the batch size."""

import numpy as np
import numpy.typing as npt

from ..model.profile import SaturatingCurve

FloatArray = npt.NDArray[np.float64]


def log_time(
    log_floor: float, log_per_item: float, exponent: float, sharpness: float, log_batch: FloatArray
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
