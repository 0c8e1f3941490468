"""
The least shares with which the services on a GPU keep their SLOs: a least fixed point.

A resident's latency rises in the shares of the others (`MonotoneModel`). The iteration below starts with shares that no
feasible allocation goes below, and raises a share only to what it needs beside the others' present ones, power of its
own present share included. In any feasible allocation all of these are at least as great, so its share there is too.
Hence the result is below every feasible allocation in each component, and it is feasible or no allocation is.

It follows that a set of workloads fits a GPU exactly if its least shares fit, that every subset of a set that fits
does too, and that iGniter's loop (algorithm 2), which raises by one unit at a time, ends at the same point.

Shares are counted in units of the GPU's granularity, as integers, so that sums carry no rounding.
"""

import numpy as np

from .prediction import Floats, Ints, MonotoneModel

TOLERANCE = 1e-9
"""Relative; a figure equal to its limit but for rounding keeps it."""

TOO_MUCH = 1 << 30
"""Units of a share that no GPU has."""


def least_shares(
    model: MonotoneModel,
    workload: Ints,
    batch: Ints,
    latency_ms: Floats,
    required_rps: Floats,
    *,
    unit_percent: float,
    capacity_units: int,
    least_units: int = 1,
    start: Ints | None = None,
) -> tuple[Ints, np.ndarray]:
    """
    Returns the least shares of every set of residents, and which sets fit.

    Parameters
    ----------
    workload, batch, latency_ms, required_rps
        Shape (set, resident). A workload of -1 means that the place is empty.
    unit_percent
        Granularity of shares.
    capacity_units
        Units that a GPU has to give.
    least_units
        Units that every share has: no feasible allocation goes below them.
    start
        Shares that are known to be no greater than the least ones, in units; None: `least_units`.

    Returns
    -------
    Units, shape (set, resident), and whether the set fits, shape (set,). The shares of a set that does not fit are
    where the iteration was given up.
    """
    here = workload >= 0
    kind = np.where(here, workload, 0)
    units = np.where(here, least_units if start is None else np.maximum(start, least_units), 0).astype(np.int64)
    fits = np.ones(len(units), dtype=bool)
    open_sets = np.arange(len(units))
    while open_sets.size:
        now = units[open_sets]
        percent = np.asarray(now * unit_percent, dtype=np.float64)
        needed = model.least_percent(
            kind[open_sets],
            batch[open_sets],
            percent,
            latency_ms[open_sets] * (1 + TOLERANCE),
            required_rps[open_sets] * (1 - TOLERANCE),
        )
        grown = np.maximum(now, _units(needed, unit_percent))
        units[open_sets] = grown
        too_large = grown.sum(axis=1) > capacity_units
        fits[open_sets[too_large]] = False
        open_sets = open_sets[~too_large & np.any(grown > now, axis=1)]
    return units, fits


def _units(percent: Floats, unit_percent: float) -> Ints:
    """Returns shares rounded up to whole units."""
    units = np.ceil(np.clip(percent / unit_percent, 0.0, TOO_MUCH) - TOLERANCE)
    return units.astype(np.int64)
