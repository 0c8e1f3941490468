"""
Prices to begin with: those that would be best if nobody slowed a neighbour.

Without interference a resident of w with u units carries h_w(u), the most of any batch size, as if alone. What is left
are units: N_g U_g of type g, at a price L_g of one. With the prices

    r_w = max over g, u of (a_w h_w(u) - L_g u)        for w with one replica, of a resident; below 0: s_w = -r_w
    y_w = max(min over g, u of L_g u / h_w(u) - a_w, 0)     for every other w, of a request/s

and L_g not below a_w h_w(u) / u of any of the others, no content of g is worth more than L_g U_g, so prices.py's limit
is at most

    sum_g N_g U_g L_g + sum r_w - sum y_w R_w

L_g is a part of the most that any unit of g makes; the best of some parts is taken. These are only prices to begin
with: what is proven at them does not rest on this.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...performance.interference.prediction import Floats
from .figures import Figures
from .gpu_contents import GpuContents
from .prices import MasterPrices

PARTS = 50
"""Parts of the most of a unit that are tried."""


def prices_of_units(
    fleet: Sequence[GpuContents], once: np.ndarray, weights: Floats, required: Floats, gpus: Mapping[str, int]
) -> MasterPrices:
    """
    Returns the prices with the least limit as if nobody slowed a neighbour.

    Parameters
    ----------
    once, weights, required
        Shape (workload,): whether it may have one replica only; what a request/s counts, above 0; requests/s.
    gpus
        GPU type -> how many there are.
    """
    tables = [one.carried_alone() for one in fleet]
    n = len(weights)
    of_unit = [weights[:, None] * table / np.arange(1, table.shape[1] + 1) for table in tables]
    most = [float(own.max(initial=0.0)) for own in of_unit]
    least_part = max(
        (float(own[~once].max(initial=0.0)) / top for own, top in zip(of_unit, most, strict=True) if top), default=0.0
    )
    found, least = MasterPrices(np.zeros(n), np.zeros(n), np.zeros(n)), np.inf
    for part in np.linspace(max(least_part, 1 / PARTS), 1.0, PARTS).tolist():
        charge, of_rate = np.full(n, -np.inf), np.full(n, np.inf)
        for table, top in zip(tables, most, strict=True):
            cost = part * top * np.arange(1, table.shape[1] + 1)
            there = table > 0
            worth = np.where(there, weights[:, None] * table - cost, -np.inf)
            charge = np.maximum(charge, worth.max(axis=1, initial=-np.inf))
            each = np.where(there, cost / np.where(there, table, 1.0), np.inf)
            of_rate = np.minimum(of_rate, each.min(axis=1, initial=np.inf))
        charge = np.where(once & np.isfinite(charge), charge, 0.0)
        of_rate = np.where(~once & np.isfinite(of_rate), np.maximum(of_rate - weights, 0.0), 0.0)
        # A type that is shared in several ways has GPUs of one or the other.
        of_gpu = dict.fromkeys(gpus, 0.0)
        for one, table, top in zip(fleet, tables, most, strict=True):
            of_gpu[one.gpu] = max(of_gpu[one.gpu], part * top * table.shape[1])
        limit = sum(gpus[gpu] * own for gpu, own in of_gpu.items()) + float(charge.sum()) - float(of_rate @ required)
        if limit < least:
            least = limit
            found = MasterPrices(of_rate, np.maximum(charge, 0.0), np.maximum(-charge, 0.0))
    return found


def carried_alone(figures: Figures) -> Floats:
    """Returns the most requests/s of each workload alone on 1 unit and up, shape (workload, unit)."""
    choices = figures.choices
    carried = figures.carried_among(choices, (0.0,) * len(choices.demands), 1)
    table = np.zeros((len(figures.once), figures.mps.capacity_units))
    np.maximum.at(table, (choices.workload, choices.units - 1), carried)
    return table
