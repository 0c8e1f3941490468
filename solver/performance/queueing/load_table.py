"""
The greatest load of one server at which a quantile of the latency keeps an SLO, by looking it up.

`latency_quantiles.csv` has the quantiles x of latency_quantiles.py for a grid of quantiles, batch sizes and loads, in
units of the time T of a batch. What is asked for is rounded to the safe side: the quantile up, the load down (x rises
with the load; the running maximum is taken all the same, as a promise is for every lower load too), the batch size
down, which is safe for SLOs of 2 T and more only: there a larger batch allows a greater load (tests hold both against
the exact chain). Below 2 T, where a request that just misses a batch waits T and executes T, the answer is 0.

The file is made by table_file.py, and is all that planning needs: the exact chain takes SciPy's statistics, which take
longer to import than a plan to make.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from ..interference.prediction import Floats, Ints

MOST = 0.97
"""The greatest load: beyond it a queue is so long that its steady state takes a day to come."""

LEAST_SLACK = 2.0
"""SLO over T, from which on a batch size may be rounded down."""

TOLERANCE = 1e-9

FILE = "latency_quantiles.csv"


@dataclass(frozen=True, eq=False)
class LoadTable:
    """The table; arrays of shape (quantile,), (batch,), (load,), and (quantile, batch, load)."""

    quantile: Floats
    batch: Ints
    load: Floats
    latency: Floats
    """In units of T, the greatest at this load and all lower ones."""


@cache
def load_table() -> LoadTable:
    """Returns the table that is shipped."""
    lines = (files(__package__) / FILE).read_text("ascii").splitlines()
    load = np.array([float(cell) for cell in lines[0].split(",")[2:]])
    rows = np.loadtxt(lines[1:], delimiter=",")
    quantile, batch = np.unique(rows[:, 0]), np.unique(rows[:, 1]).astype(np.int64)
    latency = rows[:, 2:].reshape(quantile.size, batch.size, load.size)
    return LoadTable(quantile, batch, load, np.maximum.accumulate(latency, axis=2))


def greatest_loads(batch: Ints, slack: Floats, quantile: Floats) -> Floats:
    """
    Returns the greatest load at which, and below which, a quantile of the latency keeps the SLO; 0: at none.

    Parameters
    ----------
    batch
        Largest batch; beyond the table's largest counts as that one.
    slack
        SLO over T.
    quantile
        At most the table's greatest, 0.99999. All arguments of one shape, which is that of the answer.
    """
    table = load_table()
    found = np.zeros(np.shape(slack))
    with_none = np.concatenate(([0.0], table.load))
    for own, latency in _alike(table, batch, quantile):
        found[own] = with_none[np.searchsorted(latency, slack[own] * (1 + TOLERANCE), side="right")]
    return np.where(slack * (1 + TOLERANCE) >= LEAST_SLACK, found, 0.0)


def longest_times(batch: Ints, slo_ms: Floats, quantile: Floats, rate_rps: Floats) -> Floats:
    """
    Returns the longest time T of a batch with which `greatest_loads` allows a rate of one server; 0: none does.

    A load rho of the table allows it up to T = min(SLO / x, b rho / rate), x the latency there, and every shorter time
    too. The greatest of these is taken, at most half of the SLO; arguments as of `greatest_loads`, and the same shape.
    """
    table = load_table()
    found = np.zeros(np.shape(slo_ms))
    for own, latency in _alike(table, batch, quantile):
        slo, full_ms = slo_ms[own], np.full(int(own.sum()), np.inf)
        np.divide(1000.0 * batch[own], rate_rps[own], out=full_ms, where=rate_rps[own] > 0)
        found[own] = np.minimum(slo[:, None] / latency, full_ms[:, None] * table.load).max(axis=1)
    return np.minimum(found, slo_ms / LEAST_SLACK)


def _alike(table: LoadTable, batch: Ints, quantile: Floats) -> Iterator[tuple[np.ndarray, Floats]]:
    """Yields what shares a row of the table, as a mask, and the row, shape (load,)."""
    q = np.searchsorted(table.quantile, quantile - TOLERANCE)
    b = np.searchsorted(table.batch, batch, side="right") - 1
    pair, where = np.unique(q * table.batch.size + b, return_inverse=True)
    where = where.reshape(np.shape(quantile))
    for number, one in enumerate(pair.tolist()):
        yield where == number, table.latency[divmod(one, table.batch.size)]
