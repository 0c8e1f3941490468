"""
The latency model's coefficients from measurements, by least squares, each with its errors (InSS, section 4.1, end).

    running time   16 runs alone: 4 batches x 4 shares (running_times.py)
    L2 line        the same runs' L2 use by share: l = alpha_u p + beta_u
    crowd          scheduling of a kernel with m = 2, 3, .. models, less that with one: alpha_s m + beta_s
    sensitivity    runs beside others: (t_r / o_run - 1) = alpha_cache sum of the others' L2 use, through the origin

InSS takes five runs beside others for the last two. On 750 pairs that were measured on a V100 five a model are too few:
fitted to five the form is off by up to 45 %, fitted to three quarters of them by up to 10 % on the rest.
"""

from dataclasses import dataclass

import numpy as np

from ..model.fit_error import FitError
from ..model.inss_problem import Running
from ..performance.fitting import fit_error
from ..performance.interference.prediction import Floats
from .running_times import running_ms


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients, and how far they are from what was measured."""

    coefficients: tuple[float, ...]
    fitted: Floats
    """Shape (point,)."""
    measured: Floats
    """Shape (point,)."""

    @property
    def error(self) -> FitError:
        """|fitted/measured - 1| over all points."""
        return fit_error(np.abs(self.fitted / self.measured - 1))


def _solved(rows: Floats, measured: Floats) -> Fitted:
    found = np.linalg.lstsq(rows, measured, rcond=None)[0]
    return Fitted(tuple(found.tolist()), rows @ found, measured)


def fit_l2(percent: Floats, l2_percent: Floats) -> Fitted:
    """Returns (alpha_u, beta_u) of runs alone; arrays have shape (run,)."""
    return _solved(np.column_stack([percent, np.ones_like(percent)]), l2_percent)


def fit_crowd(models: Floats, longer_ms_per_kernel: Floats) -> Fitted:
    """Returns (alpha_s, beta_s) of what a kernel waits longer with 2 models and more; arrays have shape (run,)."""
    return _solved(np.column_stack([models, np.ones_like(models)]), longer_ms_per_kernel)


def fit_sensitivity(running_alone_ms: Floats, others_l2: Floats, measured_ms: Floats) -> Fitted:
    """
    Returns (alpha_cache, constant) of runs beside others: t = o_run (1 + alpha_cache sum of L2) + constant.

    Rows are divided by what was measured, so that errors are relative. The constant takes what scheduling beside one
    neighbour adds; arrays have shape (run,), milliseconds and percent.
    """
    rows = np.column_stack([running_alone_ms * others_l2, np.ones_like(others_l2)]) / measured_ms[:, None]
    found = np.linalg.lstsq(rows, 1 - running_alone_ms / measured_ms, rcond=None)[0]
    fitted = running_alone_ms * (1 + found[0] * others_l2) + found[1]
    return Fitted(tuple(found.tolist()), fitted, measured_ms)


def running_error(running: Running) -> FitError | None:
    """Returns how far a model's running times are from the points that they are made of; None: it has no points."""
    if running.points is None:
        return None
    batch = np.array([one.batch for one in running.points], dtype=np.float64)
    percent = np.array([one.percent for one in running.points])
    measured = np.array([one.ms for one in running.points])
    return fit_error(np.abs(running_ms(running, batch, percent) / measured - 1))
