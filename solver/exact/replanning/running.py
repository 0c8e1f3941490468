"""What runs and may stay, and a plan around it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...model.geometry import Layout
from ...performance.operating_points import OperatingPoints
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
    placed: tuple[tuple[AllocatedGpu, int | None], ...] = ()
    """GPUs whose contents are settled, beside all these: each with the number of the running GPU that it is; None:
    another one."""


def run_by(partitions: Sequence[RunningPartition]) -> OperatingPoints:
    """Returns the operating points at which partitions run, shape (partition,)."""
    return OperatingPoints(
        np.array([one.batch for one in partitions], dtype=np.int64),
        np.array([one.processes for one in partitions], dtype=np.int64),
        np.array([one.latency_ms for one in partitions], dtype=np.float64),
        np.array([one.throughput_rps for one in partitions], dtype=np.float64),
        np.full(len(partitions), np.nan),
    )
