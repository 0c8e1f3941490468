"""
Fits iGniter's coefficients to measurements: 7 of the GPU, and those of each model (IEEE TPDS 2023, sec. 3.1).

The paper asks for 11 configurations of a model: 9 runs alone (3 batch sizes x 3 shares) and traces of one copy and of
two. What it leaves open is taken from its artifact:

- active time: t_gpu min(1, f / F) - k_sch n_k of every run alone, least squares from all ones (eq. 11);
- power: the line through the runs whose frequency is within 1 MHz of F, above the idle power, over the ability
  1000 b / (t_gpu - k_sch n_k);
- cache use: the line through the runs of which it was measured, over the same ability;
- alpha_cache: (t_act of two copies x f / F / t_act of one - 1) / cache use of one (eq. 8);
- alpha_f: copies of one model, each on the same share; the mean rise of the power over the copies that are not
  throttled extends to the demand of those that are, and one slope is fitted through (P, F) (eq. 9);
- alpha_sch, beta_sch: a line through the scheduling delay of a kernel, scaled by f / F, less that of one copy
  (eq. 6).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import ValidationError
from scipy.optimize import OptimizeWarning, curve_fit

from ...model.fit_error import FitError
from ...model.interference import GpuCoefficients, Interference, MeasuredRange, ModelCoefficients
from ..fitting import fit_error
from .prediction import Floats

DIGITS = 7
"""Significant digits of the coefficients."""

UNTHROTTLED_MHZ = 1.0
"""A run whose frequency is less than this below the greatest one counts as not throttled."""


ACTIVE, POWER, CACHE = "active ms", "power W", "L2 %"
FREQUENCY, SCHEDULING = "frequency MHz", "scheduling ms"


@dataclass(frozen=True)
class Residual:
    """One measured point and what the fit says of it."""

    quantity: str
    batch: int | None
    """None: not of one batch size."""
    sm_percent: float | None
    """None: not of one share."""
    copies: int
    """Copies of the model that ran together."""
    measured: float
    fitted: float

    @property
    def relative(self) -> float:
        """fitted / measured - 1."""
        return self.fitted / self.measured - 1


class DivergedFitError(ValueError):
    """A fit found no coefficients, or coefficients that cannot describe a GPU."""


@dataclass(frozen=True)
class SoloRuns:
    """Runs of one model alone; arrays have shape (run,)."""

    batch: Floats
    percent: Floats
    gpu_ms: Floats
    """t_gpu: from the first kernel to the last."""
    power_w: Floats
    frequency_mhz: Floats
    l2_percent: Floats
    """nan: not measured."""


@dataclass(frozen=True)
class PairTrace:
    """Traces of one copy and of two copies of a model."""

    active_one_ms: float
    active_two_ms: float
    frequency_two_mhz: float
    l2_one_percent: float


@dataclass(frozen=True)
class ModelMeasurements:
    """What was measured of one model."""

    name: str
    input_bytes: float
    output_bytes: float
    kernels: int
    scheduling_ms: float
    """Gaps between the kernels of one inference, alone."""
    solo: SoloRuns
    pair: PairTrace


@dataclass(frozen=True)
class GpuMeasurements:
    """What was measured of the GPU: copies 1, 2, … of one model side by side; arrays have shape (copies,)."""

    max_power_w: float
    idle_power_w: float
    max_frequency_mhz: float
    pcie_bytes_per_ms: float
    power_w: Floats
    frequency_mhz: Floats
    scheduling_ms_per_kernel: Floats


def fit_gpu(measured: GpuMeasurements) -> tuple[GpuCoefficients, tuple[Residual, ...]]:
    """
    Fits the coefficients of a GPU type.

    Raises
    ------
    DivergedFitError
        If too few runs are (un)throttled, or the coefficients cannot describe a GPU.
    """
    top = measured.max_frequency_mhz
    copies = np.arange(1, len(measured.power_w) + 1)
    free = measured.frequency_mhz > top - UNTHROTTLED_MHZ
    unthrottled = int(np.argmin(free)) if not free.all() else len(free)
    if unthrottled < 2 or unthrottled == len(copies):
        raise DivergedFitError(
            f"of {len(copies)} runs with more and more copies {unthrottled} keep the full frequency; expected at "
            "least 2 that do and 1 that does not, to fit power and frequency"
        )
    if len(copies) < 3:
        raise DivergedFitError(f"has runs with {len(copies)} copies; expected at least 3, to fit the scheduling delay")
    rise = float(np.diff(measured.power_w[:unthrottled]).mean())
    beyond = copies[unthrottled:] - unthrottled
    over = measured.power_w[unthrottled - 1] + rise * beyond - measured.max_power_w
    loss = measured.frequency_mhz[unthrottled:] - top
    slope = float(over @ loss / (over @ over))
    delays = measured.scheduling_ms_per_kernel * measured.frequency_mhz / top
    extra = delays[1:] - measured.scheduling_ms_per_kernel[0]
    per_resident, offset = np.polyfit(copies[1:], extra, 1)
    try:
        gpu = GpuCoefficients(
            max_power_w=measured.max_power_w,
            idle_power_w=measured.idle_power_w,
            max_frequency_mhz=top,
            frequency_mhz_per_w=_digits(slope),
            scheduling_ms_per_resident=_digits(per_resident),
            scheduling_ms_offset=_digits(offset),
            pcie_bytes_per_ms=measured.pcie_bytes_per_ms,
        )
    except ValidationError as error:
        raise DivergedFitError(f"gives coefficients that cannot be: {_in_words(error)}") from error
    residuals = [
        Residual(FREQUENCY, None, None, int(c), float(f), top + gpu.frequency_mhz_per_w * w)
        for c, f, w in zip(copies[unthrottled:], measured.frequency_mhz[unthrottled:], over.tolist(), strict=True)
    ]
    residuals += [
        Residual(SCHEDULING, None, None, int(c), m, gpu.scheduling_ms_per_resident * int(c) + gpu.scheduling_ms_offset)
        for c, m in zip(copies[1:], extra.tolist(), strict=True)
    ]
    return gpu, tuple(residuals)


def fit_model(
    measured: ModelMeasurements, gpu: GpuCoefficients, gpu_residuals: Sequence[Residual] = ()
) -> tuple[Interference, tuple[Residual, ...]]:
    """
    Fits the coefficients of one model on a GPU type of which the coefficients are known.

    Returns
    -------
    The coefficients with the error of each fit, that of the GPU's included, and the residual of every point.

    Raises
    ------
    DivergedFitError
        If a fit does not converge, or its coefficients cannot describe a GPU.
    """
    solo, top = measured.solo, gpu.max_frequency_mhz
    active = solo.gpu_ms * np.minimum(1.0, solo.frequency_mhz / top) - measured.scheduling_ms
    ks = _fit_active(measured.name, solo, active)
    ability = 1000 * solo.batch / (solo.gpu_ms - measured.scheduling_ms)
    free = solo.frequency_mhz > top - UNTHROTTLED_MHZ
    power = _line(measured.name, "power", ability[free], solo.power_w[free] - gpu.idle_power_w)
    has_l2 = ~np.isnan(solo.l2_percent)
    cache = _line(measured.name, "cache use", ability[has_l2], solo.l2_percent[has_l2])
    pair = measured.pair
    growth = pair.active_two_ms * pair.frequency_two_mhz / top / pair.active_one_ms - 1
    try:
        model = ModelCoefficients(
            input_bytes=measured.input_bytes,
            output_bytes=measured.output_bytes,
            kernels=measured.kernels,
            scheduling_ms=_digits(measured.scheduling_ms),
            active=ks,
            power_slope=power[0],
            power_offset_w=power[1],
            cache_slope=cache[0],
            cache_offset=cache[1],
            cache_sensitivity=_digits(growth / pair.l2_one_percent),
        )
        fitted = _active(np.stack([solo.batch, solo.percent]), *ks)
        residuals = (
            *_residuals(ACTIVE, solo, active, fitted, np.ones_like(free)),
            *_residuals(POWER, solo, solo.power_w, power[0] * ability + power[1] + gpu.idle_power_w, free),
            *_residuals(CACHE, solo, solo.l2_percent, cache[0] * ability + cache[1], has_l2),
        )
        interference = Interference(
            gpu=gpu,
            model=model,
            measured=MeasuredRange(
                min_batch=int(solo.batch.min()),
                max_batch=int(solo.batch.max()),
                min_percent=float(solo.percent.min()),
                max_percent=float(solo.percent.max()),
            ),
            errors=_errors([*residuals, *gpu_residuals]),
        )
    except ValidationError as error:
        raise DivergedFitError(f"{measured.name}: gives coefficients that cannot be: {_in_words(error)}") from error
    return interference, residuals


def _in_words(error: ValidationError) -> str:
    """Returns which figures a record refuses, on one line."""
    wrong = error.errors(include_url=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))} is {one['input']}: {one['msg']}" for one in wrong)


def _errors(residuals: Sequence[Residual]) -> dict[str, FitError]:
    return {
        quantity: fit_error(np.abs([one.relative for one in residuals if one.quantity == quantity]))
        for quantity in dict.fromkeys(one.quantity for one in residuals)
    }


def _active(x: Floats, k1: float, k2: float, k3: float, k4: float, k5: float) -> Floats:
    """Eq. 11; x has shape (2, run): batch and percent."""
    batch, percent = x
    active: Floats = ((k1 * batch + k2) * batch + k3) / (percent + k4) + k5
    return active


def _fit_active(name: str, solo: SoloRuns, active: Floats) -> tuple[float, float, float, float, float]:
    if len(active) < 5:
        raise DivergedFitError(f"{name}: has {len(active)} runs alone; expected at least 5, one for each of k1 to k5")
    try:
        with warnings.catch_warnings():
            # With as many runs as coefficients there is no covariance to state; that is no failure.
            warnings.simplefilter("ignore", OptimizeWarning)
            ks, _ = curve_fit(_active, np.stack([solo.batch, solo.percent]), active, p0=np.ones(5), maxfev=100_000)
    except RuntimeError as error:
        raise DivergedFitError(f"{name}: the fit of the active time does not converge: {error}") from error
    if not np.isfinite(ks).all():
        raise DivergedFitError(f"{name}: the fit of the active time does not converge")
    k1, k2, k3, k4, k5 = (_digits(k) for k in ks.tolist())
    return k1, k2, k3, k4, k5


def _line(name: str, what: str, x: Floats, y: Floats) -> tuple[float, float]:
    """Returns slope and offset of the least-squares line."""
    if len(np.unique(x)) < 2:
        raise DivergedFitError(f"{name}: has {len(x)} unthrottled runs with {what}; expected at least 2 different ones")
    slope, offset = np.polyfit(x, y, 1).tolist()
    return _digits(slope), _digits(offset)


def _residuals(
    quantity: str, solo: SoloRuns, measured: Floats, fitted: Floats, used: Sequence[bool] | np.ndarray
) -> list[Residual]:
    return [
        Residual(quantity, int(solo.batch[i]), float(solo.percent[i]), 1, float(measured[i]), float(fitted[i]))
        for i in np.flatnonzero(used).tolist()
    ]


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
