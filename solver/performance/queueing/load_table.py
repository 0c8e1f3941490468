"""
The greatest load at which a quantile of the latency keeps an SLO, of processes on one queue, by looking it up.

`latency_quantiles.csv` has quantiles x of the latency for a grid of quantiles, processes, batch sizes and loads, in
units of the time T of a batch, for requests at random:

- of one process, from the exact chain (latency_quantiles.py);
- of processes that take single requests, from the exact distribution (single_requests.py);
- of processes that take batches, simulated; what is tabled is above the estimate by its error (shared_batches.py,
  for quantiles of 0.995 to 0.999 the less of that and long_waits.py, beyond 0.999 rare_waits.py).

What is asked for is rounded to the side on which less is promised:

- the quantile up, and the load down: the greatest of the grid is taken at which, and below which, x is within the
  SLO. That x rises with the load is proven for batches of one (single_requests.py). Else the running maximum is taken,
  and from 2 T on no load between those of the grid was ever worse than both of its neighbours;
- the batch size and the processes down: of rows with no more of either the one that allows most. From 2 T on more of
  either allow no smaller load: so it is between any two rows of the table, which is what this rests on.

Below 2 T, where a request that just misses a batch waits T and executes T, the answer is 0; a row begins where x is
more than 2 T, and is 2 T at all lower loads.

The file is made by table_file.py, and is all that planning needs: the exact chain takes SciPy's statistics, which take
longer to import than a plan to make.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ..interference.prediction import Floats, Ints
from .table_rows import read_rows

MOST = 0.97
"""The greatest load: beyond it a queue is so long that its steady state takes a day to come."""

LEAST_SLACK = 2.0
"""SLO over T, from which on a batch size may be rounded down."""

TOLERANCE = 1e-9

FILE = "latency_quantiles.csv"


@dataclass(frozen=True, eq=False)
class LoadTable:
    """The table; arrays of shape (quantile,), (processes,), (batch,), (load,), and those below."""

    quantile: Floats
    processes: Ints
    batch: Ints
    load: Floats
    key: Ints
    """Shape (row, 3): places of quantile, processes, and batch that have a row."""
    latency: Floats
    """Shape (row, load): in units of T, at least 2, the greatest at this load and all lower ones."""


@cache
def load_table() -> LoadTable:
    """Returns the table that is shipped."""
    rows = read_rows(FILE, LEAST_SLACK)
    quantile, processes, batch = (np.unique(of) for of in rows.key.T)
    at = tuple(np.searchsorted(nodes, of) for nodes, of in zip((quantile, processes, batch), rows.key.T, strict=True))
    return LoadTable(
        quantile, processes.astype(np.int64), batch.astype(np.int64), rows.load, np.stack(at, axis=1), rows.number
    )


@cache
def latencies(quantile: int, processes: int, batch: int) -> Floats:
    """Returns what the table says at each load, shape (load,); arguments: places in it."""
    table = load_table()
    q, p, b = table.key.T
    return np.asarray(table.latency[(q == quantile) & (p <= processes) & (b <= batch)].min(axis=0))


def greatest_loads(batch: Ints, processes: Ints, slack: Floats, quantile: Floats) -> Floats:
    """
    Returns the greatest load at which, and below which, a quantile of the latency keeps the SLO; 0: at none.

    Parameters
    ----------
    batch
        Largest batch; beyond the table's largest counts as that one, and so do processes.
    slack
        SLO over T.
    quantile
        At most the table's greatest, 0.99999. All arguments of one shape, which is that of the answer.
    """
    table = load_table()
    needed = np.ravel(slack) * (1 + TOLERANCE)
    key = _row_keys(table, batch, processes, quantile)
    found = np.concatenate(([0.0], table.load))[_known_rows().with_rows(key).counts(key, needed)]
    return np.where(needed >= LEAST_SLACK, found, 0.0).reshape(np.shape(slack))


PARTS, MOST_SLACK = 64, 10
"""Of T, and T, up to which it is known how many latencies of a row are within each part."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """
    Rows that were asked for, and where to begin looking in them.

    To search each in its row takes longer than all else that is done for a partition. So it is known how many latencies
    are within so many parts of T, and mostly no more than one or two are left to be counted.
    """

    place: Ints
    """Shape (key,): of the row with that key (`_row_keys`) below; -1: it is not here."""
    latency: Floats
    """Shape (row, load + 1); the last is inf, so that a count ends there."""
    within: NDArray[np.int16]
    """Shape (row, part)."""

    def counts(self, key: Ints, needed: Floats) -> Ints:
        """Returns how many latencies of a row are no more than is needed, which is finite; both of one shape."""
        row = self.place[key]
        part = np.clip((needed - LEAST_SLACK) * PARTS, 0, self.within.shape[1] - 1).astype(np.int64)
        count = self.within[row, part].astype(np.int64)
        left = np.flatnonzero(self.latency[row, count] <= needed)
        while left.size:
            count[left] += 1
            left = left[self.latency[row[left], count[left]] <= needed[left]]
        return count

    def more(self, key: Ints) -> "_Rows":
        """Returns these rows and those with further keys."""
        table = load_table()
        of_key = np.unravel_index(key, _sizes(table))
        latency = np.stack([latencies(*of) for of in zip(*(of.tolist() for of in of_key), strict=True)])
        edges = LEAST_SLACK + np.arange(self.within.shape[1]) / PARTS
        within = np.stack([np.searchsorted(of, edges, side="right") for of in latency]).astype(np.int16)
        place = self.place.copy()
        place[key] = len(self.latency) + np.arange(key.size)
        with_end = np.concatenate((latency, np.full((key.size, 1), np.inf)), axis=1)
        return _Rows(place, np.concatenate((self.latency, with_end)), np.concatenate((self.within, within)))


class _KnownRows:
    """The rows that were asked for so far, by any thread: what one of them holds never changes."""

    def __init__(self, table: LoadTable) -> None:
        parts = (MOST_SLACK - int(LEAST_SLACK)) * PARTS + 1
        no_latency, no_part = np.zeros((0, table.load.size + 1)), np.zeros((0, parts), dtype=np.int16)
        self._rows = _Rows(np.full(int(np.prod(_sizes(table))), -1), no_latency, no_part)
        self._adding = Lock()

    def with_rows(self, key: Ints) -> _Rows:
        """Returns rows of which those with the keys are some."""
        if (self._rows.place[key] < 0).any():
            with self._adding:
                missing = np.unique(key[self._rows.place[key] < 0])
                self._rows = self._rows.more(missing) if missing.size else self._rows
        return self._rows


@cache
def _known_rows() -> _KnownRows:
    return _KnownRows(load_table())


def longest_times(batch: Ints, slo_ms: Floats, quantile: Floats, rate_rps: Floats) -> Floats:
    """
    Returns the longest time T of a batch with which `greatest_loads` allows a rate of one process; 0: none does.

    A load rho of the table allows it up to T = min(SLO / x, b rho / rate), x the latency there, and every shorter time
    too. The greatest of these is taken, at most half of the SLO; arguments as of `greatest_loads`, and the same shape.
    """
    table = load_table()
    slo, full_ms = np.ravel(slo_ms), np.full(np.size(slo_ms), np.inf)
    np.divide(1000.0 * np.ravel(batch), np.ravel(rate_rps), out=full_ms, where=np.ravel(rate_rps) > 0)
    found = np.zeros(slo.shape)
    for own, latency in _alike(table, batch, np.ones_like(batch), quantile):
        found[own] = np.minimum(slo[own, None] / latency, full_ms[own, None] * table.load).max(axis=1)
    return np.minimum(found, slo / LEAST_SLACK).reshape(np.shape(slo_ms))


def _alike(table: LoadTable, batch: Ints, processes: Ints, quantile: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Yields what shares a row of the table, as places in the arrays made flat, and the row, shape (load,)."""
    of_each = _row_keys(table, batch, processes, quantile)
    order = np.argsort(of_each.astype(np.int16), kind="stable")  # by radix, as there are few rows
    begins = np.flatnonzero(np.diff(of_each[order], prepend=-1))
    for begin, end in pairwise([*begins.tolist(), order.size]):
        q, p, b = np.unravel_index(of_each[order[begin]], _sizes(table))
        yield order[begin:end], latencies(int(q), int(p), int(b))


def _row_keys(table: LoadTable, batch: Ints, processes: Ints, quantile: Floats) -> Ints:
    """Returns a number for the row of each, made flat: places in the table of quantile, processes, and batch."""
    q = np.searchsorted(table.quantile, np.ravel(quantile) - TOLERANCE)
    p, b = _no_more(table.processes, np.ravel(processes)), _no_more(table.batch, np.ravel(batch))
    return np.asarray((q * table.processes.size + p) * table.batch.size + b)


def _sizes(table: LoadTable) -> tuple[int, int, int]:
    """Returns how many quantiles, processes and batches there are, in the order of `_row_keys`."""
    return table.quantile.size, table.processes.size, table.batch.size


def _no_more(nodes: Ints, of: Ints) -> Ints:
    """Returns the place of the last node that is no more than each number, which are at least the first."""
    place = np.searchsorted(nodes, np.arange(nodes[-1] + 1), side="right") - 1
    return np.asarray(place[np.minimum(of, nodes[-1])])
