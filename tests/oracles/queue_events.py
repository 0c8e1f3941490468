"""
Queues and batches, one event after the other, in the plainest words; shares no code with what it judges.

A clock goes from event to event: a request comes, a process falls free, the oldest request has waited long enough, a
slot begins. At each moment all that comes has come first, then processes take batches for as long as the policy lets
them.
"""

from dataclasses import dataclass, field
from math import inf

DROPPED = "dropped"
WAITING = "waiting"


@dataclass
class PlainServer:
    """One queue and its processes; `times[k]`: ms of a batch of k."""

    batch: int
    processes: int
    times: list
    weight: float = 1.0
    least: int = 1
    delay: float = 0.0
    preferred: tuple = ()
    slack: float = inf
    round: float = 0.0
    slot: float = 0.0
    waiting: list = field(default_factory=list)
    busy_until: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    next_slot: float = 0.0

    def __post_init__(self):
        self.busy_until = [0.0] * self.processes
        self.sizes = [0] * self.processes
        self.next_slot = self.slot

    def taken(self, count):
        """Returns how many of those that wait go in one batch."""
        fitting = [size for size in self.preferred if size <= count]
        return max(fitting) if fitting else count

    def wants(self, now):
        """Tells whether a batch of those that wait would go now."""
        return bool(self.waiting) and (len(self.waiting) >= self.least or now >= self.waiting[0][0] + self.delay)

    def next_moment(self, now):
        """Returns the next moment after now at which something may happen here without a request coming."""
        moments = [end for end in self.busy_until if end > now]
        if self.waiting and self.delay < inf:
            moments.append(self.waiting[0][0] + self.delay)
        if self.round:
            moments.append(self.next_slot)
        return min((moment for moment in moments if moment > now), default=inf)

    def in_flight(self, now):
        """Returns how many requests wait here or are executed."""
        executed = sum(size for size, end in zip(self.sizes, self.busy_until, strict=True) if end > now)
        return len(self.waiting) + executed

    def expected(self, now):
        """Returns when a further request is expected to complete, reckoning with full batches, from now on."""
        ahead = len(self.waiting) // self.batch
        if self.round:
            return self.next_slot - now + ahead * self.round + self.times[-1]
        rests = sorted(max(end - now, 0.0) for end in self.busy_until)
        return rests[ahead % self.processes] + (ahead // self.processes + 1) * self.times[-1]

    def serve(self, now, started, ended):
        """Lets processes take batches now."""
        if self.round:
            if now == self.next_slot:
                self.next_slot = now + self.round
                if self.waiting:
                    self._take(self.taken(min(len(self.waiting), self.batch)), 0, now, started, ended)
            return
        for process in range(self.processes):
            while self.busy_until[process] <= now:
                while self.waiting and self.waiting[0][0] + self.slack < max(self.busy_until[process], 0.0):
                    _, request = self.waiting.pop(0)
                    started[request] = ended[request] = DROPPED
                if not self.wants(now):
                    break
                self._take(self.taken(min(len(self.waiting), self.batch)), process, now, started, ended)

    def _take(self, count, process, now, started, ended):
        batch, self.waiting = self.waiting[:count], self.waiting[count:]
        self.busy_until[process], self.sizes[process] = now + self.times[count], count
        for _, request in batch:
            started[request], ended[request] = now, now + self.times[count]


def plain_simulation(arrivals, servers, choose):
    """
    Returns when each request's batch started and ended; DROPPED or WAITING stand for no time.

    Parameters
    ----------
    choose
        Called with the servers, the moment and the number of a request; returns the number of its server.
    """
    started, ended = [WAITING] * len(arrivals), [WAITING] * len(arrivals)
    now, coming = -inf, 0
    while True:
        now = min(
            arrivals[coming] if coming < len(arrivals) else inf, min(server.next_moment(now) for server in servers)
        )
        idle = coming == len(arrivals) and not any(server.waiting for server in servers)
        if now == inf or idle:
            return started, ended
        while coming < len(arrivals) and arrivals[coming] == now:
            servers[choose(servers, now, coming)].waiting.append((now, coming))
            coming += 1
        for server in servers:
            server.serve(now, started, ended)


def plain_central(arrivals, servers):
    """
    Returns the same as `plain_simulation` where all requests wait in one queue.

    Free processes take what waits, or wait for more of it; a request that none of them can take in time is dropped.
    `servers`: in the order in which their processes are asked.
    """
    started, ended = [WAITING] * len(arrivals), [WAITING] * len(arrivals)
    waiting, coming, now = [], 0, -inf
    while coming < len(arrivals) or waiting:
        moments = [end for server in servers for end in server.busy_until]
        moments += [arrivals[waiting[0]] + server.delay for server in servers if waiting]
        moments = [moment for moment in moments if moment > now] + arrivals[coming : coming + 1]
        now = min(moments, default=inf)
        if now == inf:
            return started, ended
        while coming < len(arrivals) and arrivals[coming] == now:
            waiting.append(coming)
            coming += 1
        while _one_goes(now, arrivals, servers, waiting, started, ended):
            pass
    return started, ended


def _one_goes(now, arrivals, servers, waiting, started, ended):
    """Drops a request that waits, or lets a process take a batch; returns whether it did."""
    if not waiting:
        return False
    oldest = arrivals[waiting[0]]
    if all(oldest + server.slack < end for server in servers for end in server.busy_until):
        started[waiting[0]] = ended[waiting.pop(0)] = DROPPED
        return True
    for server in servers:
        for process, end in enumerate(server.busy_until):
            wants = len(waiting) >= server.least or now >= oldest + server.delay
            if end <= now and wants and oldest + server.slack >= end:
                batch = waiting[: server.batch]
                del waiting[: server.batch]
                server.busy_until[process] = now + server.times[len(batch)]
                for request in batch:
                    started[request], ended[request] = now, now + server.times[len(batch)]
                return True
    return False


def least_in_flight(servers, now, _):
    """Chooses the server with fewest requests in flight for its weight, the new one among them."""
    return min(range(len(servers)), key=lambda i: ((servers[i].in_flight(now) + 1) / servers[i].weight, i))


def least_expected(servers, now, _):
    """Chooses the server that is expected to complete the request first."""
    return min(range(len(servers)), key=lambda i: (servers[i].expected(now), i))
