"""
Many queues, each before the processes of one server, advanced batch by batch, all of them in one step.

A queue is a server in one replication. A step sends the next batch of every queue that it is given, as array operations
over the queues; what a Python loop costs is shared by all of them, and no request is touched alone. So a step costs a
binary search for how many requests have come by the batch's start, and some dozens of array operations.

The rule of a step, for the process that is free first, at f (rule.py has the numbers): the batch starts at
s = max(f, min(arrival of the `least`-th request that waits, arrival of the oldest + `delay_ms`)); with turns, at the
first slot from then on. It takes `sizes[n]` of the n <= `batch` oldest requests that have come by s, those of that very
moment among them. In turns of any order s closes the batch, and it is executed `after_ms` later. Moments s never
decrease, as neither f nor the arrivals do; so requests are served in their order, and a queue's past is its head and
when its processes are free.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .ahead import LEAST_AT_ONCE, Sent, in_rows, kinds_of, one_at_a_time
from .server_table import ServerTable


@dataclass(frozen=True, eq=False)
class Batches:
    """Batches in the order in which they were sent; a drop is a batch that starts and ends at inf."""

    queue: Ints
    first: Ints
    """Place of the oldest request in the times of all queues."""
    size: Ints
    start_ms: Floats
    end_ms: Floats

    def of(self, rows: Ints) -> "Batches":
        """Returns some of them, in the order given."""
        return Batches(self.queue[rows], self.first[rows], self.size[rows], self.start_ms[rows], self.end_ms[rows])


class Queues:
    """
    The state of all queues.

    Parameters
    ----------
    server
        Shape (queue,): number of each queue's server in the table.
    times
        Arrivals of all queues, in ms, ascending within each queue; the queues' places follow each other.
    first, known
        Shape (queue,): where a queue's arrivals begin, and where those end that are known; more may follow.
    """

    def __init__(self, table: ServerTable, server: Ints, times: Floats, first: Ints, known: Ints) -> None:
        self._table = table
        self.server = server
        self.times = np.append(times, inf)  # a search may look at the place after the last
        self.head = first.astype(np.int64)
        self.known = known.astype(np.int64)
        width = int(table.processes.max(initial=1))
        used = np.arange(width) < table.processes[server][:, None]
        self.free_ms = np.where(used, 0.0, inf)
        """Shape (queue, process): when a process is free again; inf: there is no such process."""
        self.busy_ms = np.where(used, 0.0, -inf)
        """Shape (queue, process): until when it executes, which with turns is before it is free again."""
        self.running = np.zeros(used.shape, dtype=np.int64)
        """Shape (queue, process): size of its latest batch."""
        self._first = first
        self._sent: list[Sent] = []
        self._number_sent = 0
        self._latest = np.full(len(server), -1)
        """Shape (queue,): number of its latest batch, in the order in which all were sent."""
        self._completed: list[tuple[Ints, Floats]] = []

    def starts(self, among: Ints) -> tuple[Ints, Floats]:
        """
        Returns for queues that have a known request which process takes the next batch, and when it is closed.

        inf: the batch waits for requests that are not known.
        """
        table, of = self._table, self.server[among]
        head = self.head[among]
        oldest = self.times[head]
        enough = head + (table.least[of] - 1)
        full = np.where(enough < self.known[among], self.times[np.minimum(enough, len(self.times) - 1)], inf)
        free = self.free_ms[among]
        process = free.argmin(axis=1)
        start = np.maximum(free[np.arange(len(among)), process], np.minimum(full, oldest + table.delay_ms[of]))
        if table.round_ms.any():
            start = next_slot(start, table.round_ms[of], table.slot_ms[of])
        return process, start

    def send(self, among: Ints, process: Ints, closed: Floats) -> Floats:
        """Sends the next batch of each of the queues, or drops what is too late for it; returns how long each takes."""
        table, of = self._table, self.server[among]
        head = self.head[among]
        free = self.free_ms[among, process]
        latest = closed
        too_late = self.times[head] + table.slack_ms[of] < free
        drops = bool(too_late.any())
        if drops:  # those who came before free - slack
            latest = np.where(too_late, np.nextafter(free - table.slack_ms[of], -inf), latest)
        waiting = come_by(self.times, latest, head, np.minimum(head + table.batch[of], self.known[among]))
        row = table.table[of] + waiting
        size = table.sizes[row]
        if drops:
            size = np.where(too_late, waiting, size)
        start = closed + table.after_ms[of]
        end = start + table.batch_ms[table.table[of] + size]
        if drops:
            start, end = np.where(too_late, inf, start), np.where(too_late, inf, end)
            kept = ~too_late
            self._occupy(among[kept], process[kept], size[kept], closed[kept], end[kept])
        else:
            self._occupy(among, process, size, closed, end)
        self.head[among] = head + size
        self._latest[among] = self._number_sent + np.arange(len(among))
        self._number_sent += len(among)
        self._sent.append((among, head, size, start, end))
        takes_ms: Floats = table.batch_ms[table.table[of] + size]
        return takes_ms

    def complete(self, among: Ints, at: Floats) -> None:
        """Ends the latest batches of queues of one process each at these times, whatever they were sent to take."""
        self.free_ms[among, 0] = self.busy_ms[among, 0] = at
        self._completed.append((self._latest[among], at))

    def _occupy(self, among: Ints, process: Ints, size: Ints, closed: Floats, end: Floats) -> None:
        round_ms = self._table.round_ms[self.server[among]]
        # A slot is taken once; any time between it and the next one leads to the next one.
        self.free_ms[among, process] = np.where(round_ms > 0, closed + round_ms / 2, end)
        self.busy_ms[among, process] = end
        self.running[among, process] = size

    def advance(self, among: Ints) -> None:
        """Sends all batches of the queues, as far as requests are known."""
        while among.size:
            among = among[self.head[among] < self.known[among]]
            process, start = self.starts(among)
            if not (start < inf).all():  # some wait for ever
                goes = start < inf
                among, process, start = among[goes], process[goes], start[goes]
            if among.size:
                self.send(among, process, start)

    def send_all(self, among: Ints) -> None:
        """Sends all batches of queues of which none was sent, and whose requests are all known."""
        single, in_row = (kind[self.server[among]] for kind in kinds_of(self._table))
        single &= self.known[among] - self.head[among] >= LEAST_AT_ONCE
        known = self._table, self.server, self.times, self._first, self.known
        for send, own in ((one_at_a_time, single), (in_rows, in_row & ~single)):
            for batches in send(*known, among[own]):
                self._sent.append(batches)
                self._number_sent += len(batches[0])
            self.head[among[own]] = self.known[among[own]]
        self.advance(among[~(single | in_row)])

    def in_flight(self, among: Ints, now: Floats) -> Ints:
        """Returns how many requests of each queue wait or are executed; `now`: shape (queue,)."""
        executed: Ints = np.where(self.busy_ms[among] > now[:, None], self.running[among], 0).sum(axis=1)
        waiting = self.known[among] - self.head[among]
        in_flight: Ints = waiting + executed
        return in_flight

    def batches(self) -> Batches:
        """Returns all batches that were sent."""
        if not self._sent:
            none = np.empty(0, dtype=np.int64)
            return Batches(none, none, none, np.empty(0), np.empty(0))
        sent = Batches(*(np.concatenate(parts) for parts in zip(*self._sent, strict=True)))
        if not self._completed:
            return sent
        number, at = (np.concatenate(parts) for parts in zip(*self._completed, strict=True))
        sent.end_ms[number] = at
        return sent


def come_by(times: Floats, latest: Floats, head: Ints, end: Ints) -> Ints:
    """Returns how many requests of the places from `head` to `end` have come by a time; the first one has."""
    low, high = head + 1, end
    for _ in range(int(np.max(high - head, initial=1)).bit_length()):
        middle = (low + high) >> 1
        has_come = (middle < high) & (times[middle] <= latest)
        low, high = np.where(has_come, middle + 1, low), np.where(has_come, high, middle)
    return low - head


def next_slot(start: Floats, round_ms: Floats, slot_ms: Floats) -> Floats:
    """Returns the first slot from a time on, of those that have slots."""
    turns = (round_ms > 0) & (start < inf)
    length = np.where(turns, round_ms, 1.0)
    number = np.ceil((np.where(turns, start, 0.0) - slot_ms) / length)
    slot = slot_ms + number * length
    slot = np.where(slot < start, slot + length, slot)  # the quotient is rounded
    return np.where(turns, slot, start)
