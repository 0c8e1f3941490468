"""
Queues whose requests are all known when they begin, and whose batches take what waits: as queues.py, and quicker.

One request at a time on p processes, all of the same time T: each process takes every p-th request, as they fall free
in the order in which they began. So s_n = max(a_n, s_{n-p} + T), which for the i-th of a process is

    s_i - i T = max(a_i - i T, s_{i-1} - (i - 1) T),

a running maximum: no step for each batch at all. It is the same path but for the rounding of sums.

Larger batches go step by step, of all queues together. A batch starts at max(f, arrival of the oldest), and takes what
has come by then: of the next b arrivals as many as are no later, which are counted in rows of b. Behind the last
request of a queue stand b that never come, so that no row reaches into another queue; and nobody need look whether a
queue has ended before as many steps have passed as its requests fill batches.
"""

from collections.abc import Iterator

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .server_table import ServerTable

Sent = tuple[Ints, Ints, Ints, Floats, Floats]
"""Of batches: number of the queue, place of the oldest request, size, start and end."""

LONGEST_ROW = 32
"""Requests up to which counting in rows is quicker than a binary search."""

LEAST_AT_ONCE = 100
"""Requests of a queue from which a running maximum is quicker than steps of all queues."""


def kinds_of(table: ServerTable) -> tuple[np.ndarray, np.ndarray]:
    """Returns which servers take requests one at a time in one time, and which others take what waits, in rows."""
    rows = [slice(begin, begin + batch + 1) for begin, batch in zip(table.table, table.batch, strict=True)]
    takes_all = np.array([bool((table.sizes[row] == np.arange(row.stop - row.start)).all()) for row in rows])
    plain = takes_all & (table.least == 1) & (table.slack_ms == np.inf) & (table.round_ms == 0) & (table.after_ms == 0)
    return plain & (table.batch == 1), plain & (table.batch <= LONGEST_ROW)


def one_at_a_time(
    table: ServerTable, server: Ints, times: Floats, first: Ints, known: Ints, among: Ints
) -> Iterator[Sent]:
    """Yields the batches of queues that take requests one at a time in one time; arguments as of `Queues`."""
    for queue in among.tolist():
        begin, end, of = int(first[queue]), int(known[queue]), int(server[queue])
        processes, takes_ms = int(table.processes[of]), float(table.batch_ms[table.table[of] + 1])
        number = end - begin
        rounds = -(-number // processes)
        arrived = np.full(rounds * processes, np.inf)
        arrived[:number] = times[begin:end]
        before = (takes_ms * np.arange(rounds))[:, None]
        start = np.maximum.accumulate(arrived.reshape(rounds, processes) - before, axis=0) + before
        start = np.maximum(start.ravel(), arrived)[:number]  # no sooner than it came by rounding
        places = np.arange(begin, end)
        yield np.full(number, queue), places, np.ones_like(places), start, start + takes_ms


def in_rows(table: ServerTable, server: Ints, times: Floats, first: Ints, known: Ints, among: Ints) -> Iterator[Sent]:
    """Yields the batches of queues that take what waits; arguments as of `Queues`."""
    for processes in np.unique(table.processes[server[among]]).tolist():
        own = among[table.processes[server[among]] == processes]
        yield from _of_alike(table, server, times, first, known, own, processes)


def _of_alike(
    table: ServerTable, server: Ints, times: Floats, first: Ints, known: Ints, among: Ints, processes: int
) -> Iterator[Sent]:
    """Yields the batches of queues with as many processes each."""
    batch, row = table.batch[server[among]], table.table[server[among]]
    width = int(batch.max(initial=1))
    length = known[among] - first[among]
    begin = np.cumsum(length + width) - (length + width)
    padded = np.full(int((length + width).sum()), np.inf)
    for queue, at, number in zip(among.tolist(), begin.tolist(), length.tolist(), strict=True):
        padded[at : at + number] = times[first[queue] : first[queue] + number]
    # Of a queue with smaller batches than the widest the rest of a row is not looked at.
    column = np.arange(width)[:, None]
    narrow = None if (batch == width).all() else column >= batch
    head, end, back = begin.copy(), begin + length, first[among] - begin
    free_ms = np.zeros(among.size * processes)
    while True:
        left = end > head
        if not left.all():
            among, batch, row, head, end, back = (of[left] for of in (among, batch, row, head, end, back))
            free_ms = free_ms.reshape(-1, processes)[left].ravel()
            narrow = None if narrow is None else narrow[:, left]
        if not among.size:
            return
        lanes = np.arange(among.size) * processes
        for _ in range(int((-(-(end - head) // batch)).min())):
            process = lanes if processes == 1 else lanes + free_ms.reshape(-1, processes).argmin(axis=1)
            start = np.maximum(free_ms[process], padded[head])
            come = padded[head + column] <= start
            if narrow is not None:
                come[narrow] = False
            size = np.add.reduce(come.view(np.uint8), axis=0).astype(np.int64)  # as bytes, which hold LONGEST_ROW
            done = start + table.batch_ms[row + size]
            free_ms[process] = done
            yield among, head + back, size, start, done
            head = head + size
