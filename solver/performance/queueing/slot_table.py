"""
The greatest load at which a quantile keeps an SLO where a service has a slot every round, by looking it up.

`slot_quantiles.csv` has of quantiles, batch sizes and loads the least slack x at which that part is in time
(kept_slots.py has the exact chain, and what x is). A row begins where x is more than 1, and is 1 at all lower loads.

What is asked for is rounded to the side on which less is promised: the quantile up, the load down, as x never falls
with the load; and a batch size between two rows is counted as a smaller one, which is never sooner at the same rate and
round. With a slack below 1 the answer is 0: a request that just misses its slot would be late.

The file is made by slot_table_file.py, and is all that planning and `check` need.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..interference.prediction import Floats, Ints
from .table_rows import read_rows

LEAST_SLACK = 1.0
"""SLO less execution over the length of a round, from which on anything is promised."""

TOLERANCE = 1e-9

FILE = "slot_quantiles.csv"


@dataclass(frozen=True, eq=False)
class SlotTable:
    """The table; arrays of shape (quantile,), (batch,), (load,), and slack of (quantile, batch, load)."""

    quantile: Floats
    batch: Ints
    load: Floats
    slack: Floats


@cache
def slot_table() -> SlotTable:
    """Returns the table that is shipped."""
    rows = read_rows(FILE, LEAST_SLACK)
    (quantile, q), (batch, b) = (np.unique(of, return_inverse=True) for of in rows.key.T)
    slack = np.full((quantile.size, batch.size, rows.load.size), LEAST_SLACK)
    slack[q, b] = rows.number
    return SlotTable(quantile, batch.astype(np.int64), rows.load, slack)


def greatest_slot_rps(batch: Ints, round_ms: Floats, left_ms: Floats, quantile: Floats) -> Floats:
    """
    Returns the greatest rate at which, and below which, a quantile keeps the SLO; 0: at none.

    Parameters
    ----------
    batch
        At least 1.
    left_ms
        What the SLO leaves beside the execution of a batch.
    quantile
        At most the table's greatest, 0.99999. All arguments of one shape, which is that of the answer.
    """
    table, shape = slot_table(), np.shape(left_ms)
    q, b = _rows(table, batch, quantile)
    ms, left = np.ravel(round_ms), np.ravel(left_ms)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = np.where(ms > 0, left / ms, 0.0) * (1 + TOLERANCE)
    found = np.zeros(slack.shape)
    with_none = np.concatenate(([0.0], table.load))
    for own in _alike(q * table.batch.size + b):
        row = table.slack[q[own[0]], b[own[0]]]
        found[own] = with_none[np.searchsorted(row, slack[own], side="right")]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(found > 0, found * 1000.0 * table.batch[b] / ms, 0.0).reshape(shape)


def longest_rounds(batch: Ints, part: Floats, slo_ms: Floats, quantile: Floats, rate_rps: Floats) -> Floats:
    """
    Returns the longest round in which `greatest_slot_rps` allows a rate; 0: none does.

    A load rho of the table allows it in a round of d if x d is within what the SLO leaves, and up to b rho / rate. So
    does every shorter round. The greatest of these over all loads is taken.

    Parameters
    ----------
    part
        Rounds that execution takes beside `slo_ms`, which is what is left for x + `part` rounds: 1 where a request may
        be the last of its round, whose turns take all of it; 0 where `slo_ms` is without execution already.
    """
    table, shape = slot_table(), np.shape(slo_ms)
    q, b = _rows(table, batch, quantile)
    slo, rate, beside = np.ravel(slo_ms), np.ravel(rate_rps), np.ravel(part)
    with np.errstate(divide="ignore"):
        full_ms = np.where(rate > 0, 1000.0 * table.batch[b] / rate, np.inf)
    found = np.zeros(slo.shape)
    for own in _alike(q * table.batch.size + b):
        row = table.slack[q[own[0]], b[own[0]]]
        by_slo = slo[own, None] / (row + beside[own, None])
        found[own] = np.minimum(by_slo, full_ms[own, None] * table.load).max(axis=1)
    return np.maximum(found, 0.0).reshape(shape)


def _rows(table: SlotTable, batch: Ints, quantile: Floats) -> tuple[Ints, Ints]:
    """Returns the places of quantiles and batch sizes in the table."""
    q = np.searchsorted(table.quantile, np.ravel(quantile) - TOLERANCE)
    return q, np.searchsorted(table.batch, np.ravel(batch), side="right") - 1


def _alike(keys: Ints) -> list[Ints]:
    """Returns the places of equal keys."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if order.size else []
