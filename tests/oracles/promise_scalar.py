"""
What a process is promised, one number at a time: by the file of the table, and by the formula for every k-th request.

The table is the product's, held against the exact chain by its own tests; how it is looked up is written here again.
"""

import math
from functools import cache
from pathlib import Path

import sliceplan.solver.performance.queueing as queueing

MOST_TURNS = 400
"""Every so many requests, and more, are not looked at."""

TABLE = Path(queueing.__file__).parent / "latency_quantiles.csv"


@cache
def table():
    """Returns loads, and latencies of one process by (quantile, batch size), each the greatest up to its load."""
    head, *lines = TABLE.read_text().splitlines()
    loads, rows = [float(cell) for cell in head.split(",")[3:]], {}
    for line in lines:
        quantile, processes, batch, *known = map(int, line.split(","))
        if processes == 1:
            latencies = [2.0] * (len(loads) - len(known)) + [one / 1000 if one else math.inf for one in known]
            rows[quantile / 100_000, batch] = [max(latencies[: i + 1]) for i in range(len(latencies))]
    return loads, rows


def load_of_one(batch, slack, quantile):
    loads, rows = table()
    if slack < 2:
        return 0.0
    q = min(one for one, _ in rows if one >= quantile - 1e-9)
    b = max(one for _, one in rows if one <= batch)
    return max((load for load, x in zip(loads, rows[q, b], strict=True) if x <= slack), default=0.0)


def load_of_every(batch, slack, quantile, k):
    room = batch * (slack - 1) - max((batch - 1) * (1 - 0.3 / k), 0.93 * batch - 4.2) - (batch > 1) * 0.35 * (1 - 1 / k)
    if slack < 2 or room <= 0 or quantile > 0.999:
        return 0.0
    theta = math.log(1 / (1 - max(quantile, 0.95))) / (k * room)
    load = theta / math.expm1(theta) - (0.026 if quantile > 0.99 else 0.013)
    return min(max(load, 0.0), 0.97)


def greatest_rps(batch, time_ms, slo_ms, quantile, whole_rps, *, by_turns):
    """Returns the greatest rate that a process with batches of a time carries, of a service's whole rate."""
    slack, full = slo_ms / time_ms, 1000 * batch / time_ms
    best = load_of_one(batch, slack, quantile) * full
    for k in range(1, MOST_TURNS if by_turns and slack >= 2 else 0):
        if whole_rps / k <= best:
            break
        best = max(best, min(load_of_every(batch, slack, quantile, k) * full, whole_rps / k))
    return best
