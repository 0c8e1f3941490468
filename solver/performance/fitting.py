"""
Fits saturating curves to measured points: one curve for each MIG profile and number of processes.

What is fitted is the time of one batch as the throughput implies it, 1000 * batch * processes / throughput,
because published latencies are often rounded (ParvaGPU's to 1 ms, which is 20 % of its shortest).

Residuals are relative (differences of logarithms). Measured series hold steps, which call for an even spread of
the residuals, and single wild points, which call for a robust loss that ignores them. So each curve is fitted under
several losses, from several fixed starting points; of these fits, the one is kept that misses the fewest points by
more than TOLERANCE, and among equals the one with the smallest mean residual, a free exponent being charged for
as Akaike's criterion for small samples does. No point is left out of the stated errors.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..model.fit_error import FitError
from ..model.profile import MeasuredPoint, Profile, SaturatingCurve
from .odd_points import OddPoint
from .saturating import FloatArray, batch_time_ms, log_time

TOLERANCE = 0.10
"""Relative error above which a point counts as missed when fits are compared."""

ODD = 0.20
"""Relative error above which a point is named in `Profile.odd_points`."""

DIGITS = 6
"""Significant digits of the coefficients; the errors are those of the rounded coefficients."""

ERROR_DECIMALS = 4

METHOD = (
    "Fitted by sliceplan.solver.performance.fitting: one saturating curve for each MIG profile and number of "
    "processes, at most 4 coefficients, on the logarithm of the time of a batch (1000 * batch * processes / "
    "throughput); of fits under several losses the one that misses the fewest points by more than 10 %. "
    "Errors are |fitted / measured - 1| of that time, over every measured point."
)

_Loss = Literal["linear", "soft_l1", "cauchy"] | Callable[[FloatArray], FloatArray]


def _eighth_power(squares: FloatArray) -> FloatArray:
    """Loss r^8 with its derivatives by r^2, shape (3, points): spreads the residuals evenly, near to minimax."""
    return np.stack([squares**4, 4 * squares**3, 12 * squares**2])


_LOSSES: tuple[tuple[_Loss, float], ...] = (
    ("soft_l1", 0.02),
    ("soft_l1", 0.1),
    ("cauchy", 0.03),
    ("linear", 1.0),
    (_eighth_power, 0.05),
)
"""Loss, and the relative residual at which it bends, as `scipy.optimize.least_squares` takes them."""

_SHARPNESS = (1.0, 16.0)
"""At 1 the two parts add up (no overlap); from 16 on the bend is within 5 % of a corner, which data cannot tell."""

_EXPONENT = (0.8, 1.1)
_SHARPNESS_FIXED = 4.0
"""Sharpness of a curve with too few points to tell."""


@dataclass(frozen=True)
class _Series:
    """Measured points of one curve, in order of batch size: ln batch and ln time (ms), shape (points,)."""

    mig_profile: str
    processes: int
    log_batch: FloatArray
    log_time: FloatArray


@dataclass(frozen=True)
class _Fit:
    """One fit: coefficients, and what it is compared by."""

    coefficients: FloatArray
    """ln floor_ms, ln per_item_ms, ln sharpness, exponent; shape (4,)."""
    rank: tuple[int, float]
    """Points missed, mean relative error times the charge for a free exponent."""


def fit_profile(profile: Profile, max_processes: int = 3) -> Profile:
    """
    Fits curves to a measured profile.

    Parameters
    ----------
    profile
        A profile with points.
    max_processes
        Points with more processes than this are not fitted.

    Returns
    -------
    A profile with curves in place of points: each with its error, the error of all together, and the points that
    the curves miss by more than ODD in words. The same profile gives the same curves.

    Raises
    ------
    ValueError
        If the profile has no point with at most `max_processes` processes.
    """
    points = [point for point in profile.mig_points if point.processes <= max_processes]
    if not points:
        raise ValueError(f"has no measured point with at most {max_processes} processes, to fit")
    groups: dict[tuple[str, int], list[MeasuredPoint]] = defaultdict(list)
    for point in points:
        groups[point.mig_profile or "", point.processes].append(point)
    curves: list[SaturatingCurve] = []
    odd: list[str] = []
    errors: list[FloatArray] = []
    for members in groups.values():
        curve = fit_curve(members)
        curves.append(curve)
        errors.append(relative_errors(curve, members))
        odd += _odd_points(curve, members)
    provenance = profile.provenance.model_copy(update={"method": f"{profile.provenance.method} {METHOD}"})
    return Profile(
        model=profile.model,
        gpu=profile.gpu,
        provenance=provenance,
        curves=tuple(curves),
        error=fit_error(np.concatenate(errors)),
        odd_points=tuple(odd),
    )


def fit_curve(points: Iterable[MeasuredPoint]) -> SaturatingCurve:
    """
    Fits one curve to points of one MIG profile and number of processes, at least one.

    The free coefficients are at most 4: from 6 points on floor, time per item, sharpness and, where the points call
    for it, the exponent; with 4 or 5 points the exponent is 1, with 2 or 3 the sharpness is fixed too. A single
    point gives its time to nearly every smaller batch.
    """
    members = sorted(points, key=lambda point: point.batch)
    series = _series(members)
    coefficients = _single(series) if len(members) == 1 else min(_fits(series), key=lambda fit: fit.rank).coefficients
    log_floor, log_per_item, log_sharpness, exponent = (float(value) for value in coefficients)
    curve = SaturatingCurve(
        mig_profile=series.mig_profile,
        processes=series.processes,
        max_batch=members[-1].batch,
        floor_ms=_significant(math.exp(log_floor)),
        per_item_ms=_significant(math.exp(log_per_item)),
        exponent=_significant(exponent),
        sharpness=_significant(math.exp(log_sharpness)),
        error=FitError(points=len(members), median=0, p95=0, max=0),
    )
    return curve.model_copy(update={"error": fit_error(relative_errors(curve, members))})


def measured_time_ms(point: MeasuredPoint) -> float:
    """Returns the time of one batch in ms that the measured throughput implies."""
    return 1000 * point.batch * point.processes / point.throughput_rps


def relative_errors(curve: SaturatingCurve, points: Iterable[MeasuredPoint]) -> FloatArray:
    """Returns |fitted / measured - 1| of the time of a batch for each point; shape (points,)."""
    members = list(points)
    measured = np.array([measured_time_ms(point) for point in members])
    fitted = batch_time_ms(curve, [point.batch for point in members])
    errors: FloatArray = np.abs(fitted / measured - 1)
    return errors


def fit_error(errors: FloatArray) -> FitError:
    """Returns the summary of relative errors, shape (points,); percentiles are interpolated linearly."""
    median, p95, largest = (round(float(value), ERROR_DECIMALS) for value in np.percentile(errors, (50, 95, 100)))
    return FitError(points=len(errors), median=median, p95=p95, max=largest)


def _odd_points(curve: SaturatingCurve, points: list[MeasuredPoint]) -> list[str]:
    return [
        str(
            OddPoint(
                point.mig_profile or "",
                point.batch,
                point.processes,
                measured_time_ms(point),
                float(batch_time_ms(curve, point.batch)),
            )
        )
        for point, error in zip(points, relative_errors(curve, points), strict=True)
        if error > ODD
    ]


def _series(points: list[MeasuredPoint]) -> _Series:
    return _Series(
        mig_profile=points[0].mig_profile or "",
        processes=points[0].processes,
        log_batch=np.log([float(point.batch) for point in points]),
        log_time=np.log([measured_time_ms(point) for point in points]),
    )


def _single(series: _Series) -> FloatArray:
    """The knee of a curve as sharp as can be lies at the only point: t^s comes half from the floor."""
    log_floor = float(series.log_time[0]) - math.log(2) / _SHARPNESS[1]
    return np.array([log_floor, log_floor - float(series.log_batch[0]), math.log(_SHARPNESS[1]), 1.0])


def _fits(series: _Series) -> Iterator[_Fit]:
    """Fits under every loss, from every start, with the fewer parameters first."""
    count = len(series.log_batch)
    choices = [2] if count < 4 else [3] if count < 6 else [3, 4]
    for free in choices:
        for loss, scale in _LOSSES:
            for start in _starts(series):
                yield _fit(series, start, free, loss, scale)


def _starts(series: _Series) -> list[FloatArray]:
    """A knee at the largest time per item with a sharp and a soft bend, and a nearly proportional curve."""
    log_floor = float(series.log_time.min())
    log_per_item = float((series.log_time - series.log_batch).min())
    return [
        np.array([log_floor, log_per_item, math.log(_SHARPNESS_FIXED), 1.0]),
        np.array([log_floor, log_per_item, 0.0, 1.0]),
        np.array([log_floor - 1, log_per_item + 0.1, 0.0, 0.95]),
    ]


def _fit(series: _Series, start: FloatArray, free: int, loss: _Loss, scale: float) -> _Fit:
    """Least squares over the first `free` of the coefficients; the others stay at 1 (exponent) or fixed."""
    rest = np.array([math.log(_SHARPNESS_FIXED), 1.0])[max(free - 2, 0) :]
    first = series.log_time[0]
    lower = np.array([first - 12, first - 24, math.log(_SHARPNESS[0]), _EXPONENT[0]])
    upper = np.array([series.log_time.max() + 1, series.log_time.max() + 1, math.log(_SHARPNESS[1]), _EXPONENT[1]])

    def residuals(values: FloatArray) -> FloatArray:
        log_floor, log_per_item, log_sharpness, exponent = np.concatenate([values, rest])
        fitted = log_time(log_floor, log_per_item, exponent, math.exp(log_sharpness), series.log_batch)
        return fitted - series.log_time

    def jacobian(values: FloatArray) -> FloatArray:
        log_floor, log_per_item, log_sharpness, exponent = np.concatenate([values, rest])
        sharpness = math.exp(log_sharpness)
        busy = log_per_item + exponent * series.log_batch
        total = log_time(log_floor, log_per_item, exponent, sharpness, series.log_batch)
        share = np.exp(sharpness * (busy - total))
        bend = (1 - share) * log_floor + share * busy - total
        return np.stack([1 - share, share, bend, share * series.log_batch], axis=1)[:, :free]

    # It takes 0.3 s to load, and `fit_error` is asked for where nothing is fitted.
    from scipy.optimize import least_squares

    solution = least_squares(
        residuals,
        np.clip(start, lower, upper)[:free],
        jac=jacobian,
        bounds=(lower[:free], upper[:free]),
        # The stubs ask for a keyword `cost_only` that least_squares does not pass to a loss.
        loss=loss,  # type: ignore[arg-type]
        f_scale=scale,
        max_nfev=200,
    )
    missed = np.abs(np.expm1(residuals(solution.x)))
    rank = (int(np.sum(missed > TOLERANCE)), round(float(missed.mean()), 9) * _charge(len(missed), free))
    return _Fit(np.concatenate([solution.x, rest]), rank)


def _charge(count: int, free: int) -> float:
    """Factor on the mean residual: Akaike's criterion for small samples (AICc), relative to an exponent of 1."""
    if free < 4:
        return 1.0
    with_three, with_four = (2 * k + 2 * k * (k + 1) / (count - k - 1) for k in (3, 4))
    return math.exp((with_four - with_three) / (2 * count))


def _significant(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
