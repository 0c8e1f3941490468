"""What runs and may stay, and a plan around it."""

from dataclasses import dataclass

from ...model.geometry import Layout
from ..mig.patterns import Pattern
from ..proof import Ended


@dataclass(frozen=True)
class RunningPartition:
    """A partition that runs and may stay: who is served, on which size, where, how, and how much."""

    workload: int
    size: int
    start: int | None
    """None: the whole GPU."""
    batch: int
    processes: int
    latency_ms: float
    throughput_rps: float
    capacity_rps: float
    """What it counts for under the problem's rule."""


@dataclass(frozen=True)
class RunningGpu:
    """A GPU that runs, with those of its partitions that may stay."""

    gpu: str
    partitions: tuple[RunningPartition, ...]

    @property
    def workloads(self) -> tuple[int, ...]:
        """The services on it, each once."""
        return tuple(dict.fromkeys(partition.workload for partition in self.partitions))


@dataclass(frozen=True)
class KeptGpu:
    """A running GPU in the new plan."""

    number: int
    """Index into the running GPUs."""
    kept: tuple[RunningPartition, ...]
    added: Layout
    """Places for new instances; not all of them need be used."""


@dataclass(frozen=True)
class Replanning:
    """What the program gave; `gpus` and `patterns` are None where it gave no plan."""

    stopped: Ended
    solver: str
    least: float | None
    """Lower limit on cost plus price of moves, USD per hour; None: unknown."""
    moved: frozenset[int]
    """Services of which a running partition does not stay."""
    kept: tuple[KeptGpu, ...] | None
    patterns: tuple[tuple[Pattern, int], ...] | None
    partitions: dict[tuple[int, int], int] | None
    """New partitions by workload and size."""
