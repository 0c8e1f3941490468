"""What planners of turns decide: shares of GPUs, and whose batches take turns on each."""

from dataclasses import dataclass, field

from .services import Services


@dataclass
class Task:
    """A service's turn."""

    service: int
    batch: int
    rate_rps: float
    """The rate that it was put there for."""


@dataclass(eq=False)
class Gpulet:
    """A share of a GPU; while it is planned, tasks come, go and shrink."""

    gpu: int
    share: float
    tasks: list[Task] = field(default_factory=list)
    cycle_ms: float = 0.0
    occupancy: float = 0.0
    """Part of the cycle in which it executes; 1: saturated by one service."""

    def put(self, task: Task, cycle_ms: float, occupancy: float) -> None:
        """Gives all of it to one service."""
        self.tasks, self.cycle_ms, self.occupancy = [task], cycle_ms, occupancy

    def clear(self) -> None:
        """Takes all services off it."""
        self.tasks, self.cycle_ms, self.occupancy = [], 0.0, 0.0

    def serves(self, service: int) -> bool:
        """Tells whether a service has a turn here."""
        return any(task.service == service for task in self.tasks)

    def carries_rps(self, service: int) -> float:
        """Returns what a service's turn carries."""
        return sum(1000 * task.batch / self.cycle_ms for task in self.tasks if task.service == service)


Placement = list[list[Gpulet]]
"""By GPU, its shares in the order in which they came to be."""


@dataclass(frozen=True)
class Claim:
    """What a planner says of a set of rates: its GPUs, and what becomes of them under its own latencies."""

    gpus: Placement
    late: tuple[int, ...]
    """Services of which a request may take more than its SLO."""
    short: tuple[int, ...]
    """Services that get less than their rate."""

    @property
    def holds(self) -> bool:
        """Whether it serves everything in time."""
        return not self.late and not self.short


def judged(services: Services, gpus: Placement, *, late: float = 1e-3, short: float = 0.05) -> Claim:
    """
    Returns what becomes of a placement: rounds as long as their turns take, latencies beside all neighbours.

    Parameters
    ----------
    late, short
        Parts of an SLO and of a rate that are passed over.
    """
    too_late: set[int] = set()
    carried = [0.0] * len(services.names)
    for lets in gpus:
        for let in lets:
            others = [(t.service, t.batch, o.share) for o in lets if o is not let for t in o.tasks]
            times = [services.beside_ms(t.service, t.batch, let.share, others) for t in let.tasks]
            round_ms = max(let.cycle_ms, sum(times))
            for task, time_ms in zip(let.tasks, times, strict=True):
                carried[task.service] += 1000 * task.batch / round_ms
                if round_ms + time_ms > services.slo_ms[task.service] * (1 + late):
                    too_late.add(task.service)
    missed = [i for i, rate in enumerate(services.rate_rps) if carried[i] < rate * (1 - short)]
    return Claim(gpus, tuple(sorted(too_late)), tuple(missed))
