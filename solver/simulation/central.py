"""
Runs of services with one queue each: all runs in step, a batch of each at a time, as in queues.py.

Before the queue stand processes of several servers. The next batch is that of the process which can start first, with
its own f, `least` and `delay_ms` (batching/rule.py), at

    s = max(f, min(arrival of the `least`-th request that waits, arrival of the oldest + `delay_ms`)).

Of equal ones the first in their order takes it, up to its own batch size. A process by which the oldest request has
waited more than `slack_ms` does not count; where that is so of all, the request is dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .queues import come_by
from .server_table import ServerTable


@dataclass(frozen=True, eq=False)
class CentralBatches:
    """Batches in the order in which they were sent."""

    run: Ints
    server: Ints
    """Row of the table."""
    first: Ints
    """Place of the oldest request in the times of all runs."""
    size: Ints
    start_ms: Floats
    end_ms: Floats


def batches_of_one_queue(
    table: ServerTable, processes: Sequence[Sequence[int]], times: Floats, bounds: Ints
) -> CentralBatches:
    """
    Returns the batches of all runs.

    Parameters
    ----------
    processes
        Of each run: rows of the table, a process each, in the order in which they are asked.
    times
        Arrivals of all runs, in ms, ascending within each.
    bounds
        Shape (run + 1,): where the arrivals of each begin, and the end of the last.
    """
    width = max(map(len, processes))
    row = np.array([[*own, *[-1] * (width - len(own))] for own in processes])
    free_ms = np.where(row >= 0, 0.0, inf)
    head, known = bounds[:-1].astype(np.int64), bounds[1:]
    latest_ms = np.zeros(len(processes))
    times = np.append(times, inf)
    drops = bool((table.slack_ms < inf).any())
    sent: list[tuple[Ints, Ints, Ints, Ints, Floats, Floats]] = []
    among = np.arange(len(processes))
    while among.size:
        among = among[head[among] < known[among]]
        of, oldest = row[among], head[among]
        enough = oldest[:, None] + (table.least[of] - 1)
        full = np.where(enough < known[among][:, None], times[np.minimum(enough, len(times) - 1)], inf)
        arrived, free = times[oldest][:, None], free_ms[among]
        starts = np.maximum(free, np.minimum(full, arrived + table.delay_ms[of]))
        late = among[:0]
        if drops:
            in_time = arrived + table.slack_ms[of] >= free
            # Behind the oldest nobody goes, though a process may be in time for them that is not for it.
            starts = np.where(in_time, np.maximum(starts, latest_ms[among][:, None]), inf)
            late = among[~in_time.any(axis=1)]
            never = np.full(late.shape, inf)
            sent.append((late, row[late, 0], head[late], np.ones_like(late), never, never))
            head[late] += 1
        process = starts.argmin(axis=1)
        start = starts[np.arange(among.size), process]
        goes = start < inf  # the others wait for ever, or have dropped a request
        among, process, start = among[goes], process[goes], start[goes]
        server, oldest = row[among, process], head[among]
        waiting = come_by(times, start, oldest, np.minimum(oldest + table.batch[server], known[among]))
        size = table.sizes[table.table[server] + waiting]
        end = start + table.batch_ms[table.table[server] + size]
        free_ms[among, process] = end
        latest_ms[among] = start
        head[among] = oldest + size
        sent.append((among, server, oldest, size, start, end))
        among = np.concatenate([among, late])
    if not sent:
        none = np.empty(0, dtype=np.int64)
        return CentralBatches(none, none, none, none, np.empty(0), np.empty(0))
    return CentralBatches(*(np.concatenate(parts) for parts in zip(*sent, strict=True)))
