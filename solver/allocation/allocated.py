"""What planners decide: which partitions stand on which GPU, for whom. `assembly` makes it a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..performance.interference.prediction import Ints

SPARE = -1
"""Stands for the workload of a partition that is kept free."""


# There may be millions of these two, and named tuples are made several times as fast as frozen dataclasses.
class Segment(NamedTuple):
    """One partition of a size for a workload, at the best operating point; without a place yet."""

    size: int
    """Index into ResolvedProblem.sizes."""
    workload: int
    """Index into the problem's workloads; SPARE: kept free."""


class CutGpu(NamedTuple):
    """One GPU and its segments. `starts` gives each segment's place, None lets `assemble` choose."""

    gpu: str
    segments: tuple[Segment, ...]
    starts: tuple[int, ...] | None = None

    @property
    def workloads(self) -> tuple[int, ...]:
        """The workload of each partition that is not kept free."""
        return tuple(segment.workload for segment in self.segments if segment.workload != SPARE)

    @property
    def is_used(self) -> bool:
        """Whether anything stands on it."""
        return bool(self.segments)


@dataclass(frozen=True, order=True)
class Resident:
    """One workload's share of a GPU under MPS."""

    workload: int
    batch: int
    percent: float


@dataclass(frozen=True)
class MpsGpu:
    """One GPU under MPS and its residents."""

    gpu: str
    residents: tuple[Resident, ...]

    @property
    def workloads(self) -> tuple[int, ...]:
        """The workload of each partition."""
        return tuple(resident.workload for resident in self.residents)

    @property
    def is_used(self) -> bool:
        """Whether anything stands on it."""
        return bool(self.residents)


AllocatedGpu = CutGpu | MpsGpu


def renumbered(gpu: AllocatedGpu, workloads: Sequence[int]) -> AllocatedGpu:
    """Returns a GPU of a part of a problem with the numbers that its workloads have in the whole."""
    if isinstance(gpu, MpsGpu):
        return replace(gpu, residents=tuple(replace(one, workload=workloads[one.workload]) for one in gpu.residents))
    return gpu._replace(segments=tuple(one._replace(workload=workloads[one.workload]) for one in gpu.segments))


@dataclass(frozen=True, eq=False)
class AlikeGpus:
    """GPUs of one type that are cut into partitions of the same sizes: thousands of CutGpu in an array."""

    gpu: str
    sizes: tuple[int, ...]
    """Shape (partition,): indices into ResolvedProblem.sizes, ascending."""
    workload: Ints
    """Shape (GPU, partition): index into the problem's workloads; SPARE: kept free."""

    @property
    def is_used(self) -> bool:
        """Whether anything stands on them."""
        return self.workload.size > 0

    def one_by_one(self) -> Iterator[CutGpu]:
        """Yields each GPU alone."""
        for workloads in self.workload.tolist():
            yield CutGpu(self.gpu, tuple(map(Segment, self.sizes, workloads)))
