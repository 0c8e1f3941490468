"""
How long the kernels of a batch run, from a few measured points: two ways.

`locally_weighted` is what InSS names (Cleveland and Devlin 1988) and does not specify; here: columns batch and percent
to mean 0 and variance 1; q = ceil(0.6 n) nearest points, h the distance of the q-th; weights (1 - (d/h)^3)^3, 0 beyond;
weighted linear least squares around the place that is asked for, ridge 1e-8; the intercept is the time. On 16 of 160
measured points of four models on a V100 (batches 1, 8, 16, 32, shares 20 to 80 %) it is off by 6 to 8 % on the others,
and by up to half: it draws planes through what is hyperbolic, and a plane that goes on below 0 outside the points. So a
place outside is moved to their edge first.

`least_squares` has the form c0 + c1 b + c2 b/p + c3/p (b the batch, p the percent): work that is divided among SMs, and
work that is not. Rows are divided by the measured time, so that errors are relative; off by 0.9 to 2.1 %.
"""

from math import ceil

import numpy as np

from ..model.errors import Finding, InputError
from ..model.inss_problem import Running
from ..performance.interference.prediction import Floats

NEAREST = 0.6
RIDGE = 1e-8


def terms(batch: Floats, percent: Floats) -> Floats:
    """Returns what the coefficients of `least_squares` are multiplied with, shape (..., 4)."""
    return np.stack([np.ones_like(batch), batch, batch / percent, 1 / percent], axis=-1)


def least_squares(batch: Floats, percent: Floats, ms: Floats) -> Floats:
    """Returns the coefficients (4,) with the least squares of relative errors; arrays have shape (point,)."""
    rows = terms(batch, percent) / ms[:, None]
    return np.asarray(np.linalg.lstsq(rows, np.ones_like(ms), rcond=None)[0], dtype=np.float64)


def locally_weighted(points: Floats, ms: Floats, at: Floats) -> Floats:
    """
    Returns the times at places, never outside what was measured.

    Parameters
    ----------
    points, at
        Shape (point, 2) and (place, 2): batch and percent.
    ms
        Shape (point,).
    """
    mean, spread = points.mean(axis=0), points.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = (points - mean) / spread
    places = (np.clip(at, points.min(axis=0), points.max(axis=0)) - mean) / spread
    found = np.empty(len(places))
    nearest = min(ceil(NEAREST * len(points)), len(points))
    for i, place in enumerate(places):
        distance = np.linalg.norm(scaled - place, axis=1)
        reach = max(float(np.sort(distance)[nearest - 1]), 1e-12)
        weight = np.clip(1 - np.minimum(distance / reach, 1.0) ** 3, 0.0, None) ** 3
        rows = np.column_stack([np.ones(len(points)), scaled - place])
        weighted = rows * weight[:, None]
        found[i] = np.linalg.solve(rows.T @ weighted + RIDGE * np.eye(3), weighted.T @ ms)[0]
    return found


def running_ms(running: Running, batch: Floats, percent: Floats) -> Floats:
    """Returns the times of batches at shares of a GPU of computing power 1, as they come: also below 0."""
    found: Floats
    if running.rational is not None:
        k1, k2, k3, k4, k5 = running.rational
        found = ((k1 * batch + k2) * batch + k3) / np.maximum(percent + k4, 1e-9) + k5
    elif running.linear is not None:
        found = terms(batch, percent) @ np.array(running.linear)
    else:
        rows = running.points or ()
        points = np.array([(one.batch, one.percent) for one in rows], dtype=np.float64)
        ms = np.array([one.ms for one in rows])
        if running.method == "local-regression":
            places = np.column_stack([batch.ravel(), percent.ravel()])
            found = locally_weighted(points, ms, places).reshape(batch.shape)
        else:
            found = terms(batch, percent) @ least_squares(points[:, 0], points[:, 1], ms)
    return found


def refuse_no_times(where: str, times: Floats) -> None:
    """Raises InputError if a time is not above 0, as no batch takes none."""
    if not np.all(times > 0):
        place = np.unravel_index(int(np.argmin(times)), times.shape)
        message = (
            f"gives {float(times.min()):.3g} ms for batch {place[0] + 1} on {place[1] + 1} units; expected times above "
            "0 for every batch and unit: measure small shares and small batches too"
        )
        raise InputError([Finding(where, "running", message)])
