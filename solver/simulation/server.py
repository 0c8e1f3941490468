"""
A partition as requests see it: one queue before its processes (or before each, where the plan's promise says so).

Servers are built from the plan alone. A batch takes the plan's `latency_ms` whatever its size; or longer, where the
plan's capacity says that its processes do not complete batches that fast. Under MPS the plan's latency is that beside
its neighbours as they are planned, all of them busy; they are so all the time here, which is the careful side where a
neighbour that rests makes nobody slower, unless who is busy is simulated too (neighbours).

Where services take turns, a service has a slot in every round (`duty_cycle_ms`), in the order of `serves`. At its slot
a batch of what waits goes; slots are kept, also by services that have nothing to send (gpu-lets, Choi et al. 2022).

In any order, what has come when a round begins is executed in it. Nobody knows the order; so each service is executed
as if it were the last of every round, after full batches of all others. That is the careful side of every order where
requests are dealt ahead: which of them go in a round depends on what has come alone, and they end no later than the
last of it can. A router that looks at the queues may deal otherwise in another order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..performance.interference.prediction import Floats

BatchTimes = Callable[[PlannedGpu, Partition, Served], Floats | None]
"""Returns the ms of a batch of 0, 1, ... `batch` requests on a partition, shape (batch + 1,); None: not known."""


@dataclass(frozen=True, eq=False)
class Server:
    """One workload on one partition."""

    gpu: str
    """Id of the GPU."""
    partition: int
    """Number of the partition on its GPU."""
    batch: int
    """Largest batch."""
    processes: int
    """Batches that are executed at once, from one queue."""
    batch_ms: Floats
    """Shape (batch + 1,): time of a batch of so many; of 0: 0."""
    weight: float
    """Part of the workload's requests, as the plan states it (`rate_rps`)."""
    round_ms: float = 0.0
    """Time from one slot to the next; 0: no turns."""
    slot_ms: float = 0.0
    """When the first slot begins; in any order: the first round."""
    after_ms: float = 0.0
    """How long a batch that is closed waits for others of its round before it is executed."""
    held_ms: float = 0.0
    """How long the plan holds a batch that is not full."""
    alone: float = 1.0
    """Part of a batch's time that it takes while all neighbours rest, where these are simulated."""

    @property
    def greatest_rps(self) -> float:
        """Most requests per second that it completes if its neighbours rest."""
        return self.capacity_rps / self.alone

    @property
    def capacity_rps(self) -> float:
        """Most requests per second that it completes in full batches; beside busy neighbours."""
        if self.round_ms > 0:
            return 1000 * self.batch / self.round_ms
        return 1000 * self.batch * self.processes / float(self.batch_ms[-1])


ROUNDED = 1 + 1e-9
"""Latency and capacity that say the same do so up to rounding."""


def servers_of(plan: Plan, batch_times: BatchTimes | None = None) -> dict[str, tuple[Server, ...]]:
    """
    Returns the servers of each workload of a plan.

    Parameters
    ----------
    batch_times
        Where to find the times of smaller batches; None, and where it does not know: every batch takes the same.
    """
    found: dict[str, list[Server]] = {}
    has_own_queues = plan.promise is not None and plan.promise.process_queues == "own"
    for gpu in plan.gpus:
        for number, partition in enumerate(gpu.partitions):
            for name, server in _of_partition(gpu, number, partition, batch_times):
                found.setdefault(name, []).extend(_by_process(server) if has_own_queues else [server])
    return {name: tuple(servers) for name, servers in found.items()}


def _of_partition(
    gpu: PlannedGpu, number: int, partition: Partition, batch_times: BatchTimes | None
) -> Iterator[tuple[str, Server]]:
    slot_ms = 0.0
    round_takes_ms = sum(served.latency_ms for served in partition.serves)
    for served in partition.serves:
        known = None if batch_times is None else batch_times(gpu, partition, served)
        takes_turns = partition.duty_cycle_ms is not None
        longest = served.latency_ms if takes_turns else batch_ms(served)
        times = np.full(served.batch + 1, longest) if known is None else np.minimum(known, longest)
        times[0], times[-1] = 0.0, longest
        yield (
            served.workload,
            Server(
                gpu=gpu.id,
                partition=number,
                batch=served.batch,
                processes=1 if takes_turns else served.processes,
                batch_ms=times,
                weight=served.rate_rps,
                round_ms=partition.duty_cycle_ms or 0.0,
                slot_ms=0.0 if partition.turns == "any" else slot_ms,
                after_ms=round_takes_ms - served.latency_ms if partition.turns == "any" else 0.0,
                held_ms=served.dispatch_after_ms or 0.0,
            ),
        )
        slot_ms += served.latency_ms


def _by_process(server: Server) -> list[Server]:
    """Returns the processes of a server, each with a queue of its own."""
    return [replace(server, processes=1, weight=server.weight / server.processes)] * server.processes


def batch_ms(served: Served) -> float:
    """Returns how long a batch takes: the latency, or what the capacity leaves each process for it, if that is more."""
    pace_ms = 1000 * served.batch * served.processes / served.capacity_rps
    return pace_ms if pace_ms > served.latency_ms * ROUNDED else served.latency_ms
