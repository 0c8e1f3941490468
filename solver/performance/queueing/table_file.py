"""
Makes the file of load_table.py anew, in about four hours of CPU time, nearly all of it for what is simulated.

    python -m sliceplan.solver.performance.queueing.table_file
    python -m sliceplan.solver.performance.queueing.table_file rare

The second makes anew only what hardly any request exceeds (rare_waits.py), in 55 minutes, and takes all else from
the file: no row of a quantile depends on those of greater ones.
"""

import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from ..interference.prediction import Floats
from .latency_quantiles import latency_quantiles
from .load_table import FILE, LEAST_SLACK
from .long_waits import long_quantiles
from .rare_waits import rare_quantiles
from .shared_batches import SharedBatches
from .single_requests import single_request_quantiles
from .table_rows import read_rows, rows_text

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.975, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999)
BATCHES = (*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256)
LOADS = (*(round(0.002 * 1.08**i, 6) for i in range(54)), *(x / 200 for x in range(26, 195)))

PROCESSES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)
"""Of queues whose batches are of one request."""

SIMULATED_PROCESSES = (2, 3, 4, 6, 8)
SIMULATED_BATCHES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128)
SIMULATED_QUANTILES = tuple(q for q in QUANTILES if q <= 0.999)

LONG_QUANTILES = tuple(q for q in SIMULATED_QUANTILES if q >= 0.995)
"""Of which so few are late that counting them leaves wide errors; there are both, and the less is taken."""

LONG_SEEDS = (2, 3)

RARE_QUANTILES = tuple(q for q in QUANTILES if q > 0.999)
"""Of which hardly any late one is seen where all are simulated."""

RARE_SEED = 4

FAR = 16
"""Where every quantile is within 2 T, the next lower load to be simulated is so many loads below."""


def simulated(processes: int, batch: int) -> Floats:
    """
    Returns quantiles of the latency of processes that take batches from one queue, shape (load, simulated quantile).

    At least 2 T, and 2 T at loads between two that were simulated and have no later one.
    """
    queue = SharedBatches(processes, batch)
    return _at_loads(lambda load: queue.quantiles(load, SIMULATED_QUANTILES), len(SIMULATED_QUANTILES))


def rare(processes: int, batch: int) -> Floats:
    """Returns the same by excursions of the queue (rare_waits.py), shape (load, rare quantile)."""
    queue = SharedBatches(processes, batch)
    return _at_loads(lambda load: rare_quantiles(queue, load, RARE_QUANTILES, RARE_SEED), len(RARE_QUANTILES))


def _at_loads(latencies: Callable[[float], Floats], count: int) -> Floats:
    """Returns latencies at loads, shape (load, count), the greatest load first, as `simulated` does."""
    found = np.full((len(LOADS), count), LEAST_SLACK)
    at = len(LOADS) - 1
    while at >= 0:
        found[at] = np.maximum(latencies(LOADS[at]), LEAST_SLACK)
        at -= 1 if (found[at] > LEAST_SLACK).any() else FAR
    return found


def long(processes: int, batch: int) -> Floats:
    """
    Returns the same from how the queue rises (long_waits.py), shape (load, long quantile): the greater of both seeds'.

    One seed's is too low by chance at some 0.2 % of the loads (three standard errors), both far more rarely.
    """
    queue = SharedBatches(processes, batch)
    greater: Floats = np.max([_long(queue, seed) for seed in LONG_SEEDS], axis=0)
    return greater


def _long(queue: SharedBatches, seed: int) -> Floats:
    """Below the loads at which nearly nobody waits nothing more is late."""
    found = np.full((len(LOADS), len(LONG_QUANTILES)), LEAST_SLACK)
    at = len(LOADS) - 1
    while at >= 0:
        latency = long_quantiles(queue, LOADS[at], LONG_QUANTILES, seed)
        if np.isnan(latency).any():
            break
        found[at] = latency
        at -= 1 if (latency > LEAST_SLACK).any() else FAR
    return found


Rows = dict[tuple[float, int, int], Floats]
"""Latencies at each load, shape (load,), by quantile, processes and batch."""


def known_rows() -> Rows:
    """Returns the rows that are exact, and those whose late requests are counted, of quantiles up to 0.999."""
    rows: Rows = {}
    for batch in BATCHES:
        rows |= _rows(QUANTILES, 1, batch, [latency_quantiles(batch, load, QUANTILES) for load in LOADS])
    for processes in PROCESSES:
        by_load = [single_request_quantiles(processes, load, QUANTILES) for load in LOADS]
        rows |= _rows(QUANTILES, processes, 1, by_load)
    for processes, batch in product(SIMULATED_PROCESSES, SIMULATED_BATCHES):
        rows |= _rows(SIMULATED_QUANTILES, processes, batch, simulated(processes, batch))
    return rows


def long_rows(known: Rows) -> Rows:
    """
    Returns the rows of quantiles of 0.995 to 0.999 of processes that take batches from one queue.

    Where both simulations have a row it is the less of two careful ones: each is wrong of a number with a chance of
    0.2 % (shared_batches.py), so one of them is with 0.4 % at most. Counting is nearer where many are late by little,
    at 2 T, the other wherever few are late.
    """
    found: Rows = {}
    for processes, batch in product(SIMULATED_PROCESSES, SIMULATED_BATCHES):
        found |= _rows(LONG_QUANTILES, processes, batch, long(processes, batch))
    return no_less_than_easier(known, {key: np.minimum(row, known.get(key, np.inf)) for key, row in found.items()})


def rare_rows(known: Rows) -> Rows:
    """Returns the rows of quantiles beyond 0.999 of processes that take batches from one queue; known: all others."""
    found: Rows = {}
    for processes, batch in product(SIMULATED_PROCESSES, SIMULATED_BATCHES):
        found |= _rows(RARE_QUANTILES, processes, batch, rare(processes, batch))
    return no_less_than_easier(known, found)


def rows_of_file() -> Rows:
    """Returns the rows that the file has, but for those of `rare_rows`."""
    rows = read_rows(FILE, LEAST_SLACK)
    keys = [(float(q), int(p), int(b)) for q, p, b in rows.key]
    return {
        (q, p, b): row
        for (q, p, b), row in zip(keys, rows.number, strict=True)
        if not (q in RARE_QUANTILES and p > 1 and b > 1)
    }


def no_less_than_easier(known: Rows, found: Rows) -> Rows:
    """
    Returns the rows found, each no less than those of rows that ask for less.

    Which are these: with no greater quantile, and no fewer processes and smaller batches. Errors of the simulations
    would now and then have it otherwise.
    """
    every = known | found
    return {
        (q, p, b): np.max([row for (q2, p2, b2), row in every.items() if q2 <= q and p2 >= p and b2 >= b], axis=0)
        for q, p, b in found
    }


def _rows(quantiles: Sequence[float], processes: int, batch: int, by_load: Sequence[Floats] | Floats) -> Rows:
    """Returns rows; `by_load`: quantiles at each load."""
    latencies = np.maximum(np.transpose(by_load), LEAST_SLACK)
    return {(q, processes, batch): latency for q, latency in zip(quantiles, latencies, strict=True)}


def table_rows(only_rare: bool) -> Rows:
    """Returns all rows; only_rare: those of `rare_rows` anew, and all others from the file."""
    rows = rows_of_file() if only_rare else known_rows()
    if not only_rare:
        rows |= long_rows(rows)
    return rows | rare_rows(rows)


if __name__ == "__main__":
    text = rows_text(("processes", "batch"), LOADS, table_rows(sys.argv[1:] == ["rare"]).items(), LEAST_SLACK)
    (Path(__file__).parent / FILE).write_text(text, "ascii")
