"""
Contents of GPUs of a type that are cut by MIG or used whole, or of CPUs: partitions, each for one service.

A partition of size k for workload w is worth v_wk: q_w T_wk - r_w at prices q of a request/s and r of a replica, less
beyond its rate (`Counted`), where T_wk is what it carries, at least the rate of those who may have one replica only. A
content of a cut with a_k partitions of size k is worth at most sum_k a_k max(0, max_w v_wk). That is exact unless a
workload with one replica stands there twice; then who gets which partition is an assignment, of partitions to such
workloads once each, or to the best of the others, or to nobody. Maximal cuts lose nothing, as what nobody needs stays
empty. So the limit is what the best cut is worth: exact, but for rounding, for which it is a little greater.

Of CPUs with too many divisions to list the even ones are known, than which none is worth more at any prices of
partitions (performance/core_divisions.py). So the sum is a limit there, and an assignment none.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...allocation.allocated import AllocatedGpu, CutGpu, Segment
from ...model.cpu import Cpu
from ...performance.fleet_types import FleetType, PartitionSize
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..mig.patterns import counts_of, patterns_of, used_cores
from .figures import TOLERANCE
from .gpu_contents import Content, ContentLimit, Counted

ROUNDING = 1e-9
"""Part of what contents are worth by which sums may be rounded."""

UNITS = 7
"""Of a GPU, for prices to begin with: the compute slices of MIG."""

NOBODY = -1


@dataclass(frozen=True, eq=False)
class CutGpus:
    """They implement `GpuContents`."""

    gpu: str
    capacity_rps: Floats
    """Shape (workload, size): what partitions of a size carry, 0 where that is less than they have to."""
    counted: Counted
    once: np.ndarray
    """Shape (workload,): whether it may have one replica only."""
    cuts: tuple[Ints, ...]
    """Sizes of the partitions of each maximal cut."""
    units: Ints
    """Shape (size,): of a GPU."""
    are_all: bool = True
    """Whether these are all maximal cuts."""

    @classmethod
    def of_type(cls, resolved: ResolvedProblem, entry: FleetType, counted: Counted) -> "CutGpus":
        """Returns those of a GPU type of the fleet."""
        once = np.array([one.max_replicas == 1 for one in resolved.problem.workloads], dtype=np.bool_)
        least_rps = np.where(once, resolved.required_rps * (1 - TOLERANCE), 0.0)
        carried = np.where(resolved.capacity_rps >= least_rps[:, None], resolved.capacity_rps, 0.0)
        sizes = np.arange(len(resolved.sizes))
        cuts = tuple(np.repeat(sizes, counts_of(resolved, pattern)) for pattern in patterns_of(resolved, entry))
        units = [1 if one.gpu != entry.gpu.name else _units(one, entry) for one in resolved.sizes]
        cores = used_cores(resolved, entry)
        are_all = not cores or entry.parts(cores) is None
        return cls(entry.gpu.name, carried, counted, once, cuts, np.array(units, dtype=np.int64), are_all)

    def has(self, content: Content) -> bool:
        """As the protocol says."""
        return isinstance(content.gpu, CutGpu) and content.gpu.gpu == self.gpu

    def of(self, gpu: AllocatedGpu) -> Content | None:
        """As the protocol says."""
        return self._content(gpu.segments) if isinstance(gpu, CutGpu) and gpu.gpu == self.gpu else None

    def without(self, content: Content, gone: np.ndarray) -> Content | None:
        """As the protocol says."""
        assert isinstance(content.gpu, CutGpu)
        return self._content([one for one in content.gpu.segments if not gone[one.workload]])

    def _content(self, segments: Iterable[Segment]) -> Content | None:
        there = sorted(one for one in segments if self.capacity_rps[one.workload, one.size] > 0)
        if not there:
            return None
        return Content(CutGpu(self.gpu, tuple(there)), tuple(float(self.capacity_rps[w, k]) for k, w in there))

    def limit(
        self, price: Floats, charge: Floats, *, known: float = 0.0, gap: float, cells: int, deadline: float
    ) -> ContentLimit:
        """As the protocol says; so few cuts are looked at in no time, whatever gap, cells and time are asked for."""
        del gap, cells, deadline
        found = self.near(price, charge, (), 0)
        most = max([known, *(one.worth(self.counted, price, charge) for one in found)])
        if not self.are_all:
            best = np.maximum(self._value(price, charge).max(axis=0, initial=0.0), 0.0)
            most = max([most, *(float(best[cut].sum()) for cut in self.cuts)])
        return ContentLimit(max(most * (1 + ROUNDING), 0.0), tuple(found))

    def near(self, price: Floats, charge: Floats, known: Iterable[Content], number: int) -> list[Content]:
        """Returns the content of each cut that is worth most, whatever is known."""
        del known, number
        value = self._value(price, charge)
        found = dict.fromkeys(content for cut in self.cuts if (content := self._best(value, cut)) is not None)
        return sorted(found, key=lambda one: -one.worth(self.counted, price, charge))

    def _value(self, price: Floats, charge: Floats) -> Floats:
        """Returns what each partition is worth, shape (workload, size); -inf: it carries nothing."""
        workload = np.arange(len(price))[:, None]
        value = self.counted.value(price, workload, self.capacity_rps)
        return np.where(self.capacity_rps > 0, value - charge[:, None], -np.inf)

    def _best(self, value: Floats, cut: Ints) -> Content | None:
        """Returns the content of a cut that is worth most, where partitions are worth so much."""
        own = np.maximum(value[:, cut].max(axis=0, initial=-np.inf), 0.0)
        whose = np.where(own > 0, value[:, cut].argmax(axis=0), NOBODY)
        often = [w for w, times in Counter(whose.tolist()).items() if w != NOBODY and times > 1 and self.once[w]]
        if often:
            whose = self._assigned(value[:, cut])
        return self._content(Segment(k, w) for k, w in zip(cut.tolist(), whose.tolist(), strict=True) if w != NOBODY)

    def _assigned(self, value: Floats) -> Ints:
        """Returns who gets each partition, worth most together; `value`: shape (workload, partition)."""
        once = np.flatnonzero(self.once & (value > 0).any(axis=1))
        others = np.where(self.once[:, None], -np.inf, value)
        anybody = np.maximum(others.max(axis=0), 0.0)
        whose = np.where(anybody > 0, others.argmax(axis=0), NOBODY)
        # A partition that goes to one of those with one replica is worth so much more.
        more = np.maximum(value[once] - anybody, 0.0)
        for row, partition in zip(*linear_sum_assignment(more, maximize=True), strict=True):
            if more[row, partition] > 0:
                whose[partition] = once[row]
        return np.asarray(whose, dtype=np.int64)

    def grown(self, content: Content, price: Floats, least_rps: Floats) -> Content:
        """Returns the content as it is: of a cut, `near` finds the best one."""
        del price, least_rps
        return content

    def carried_alone(self) -> Floats:
        """As the protocol says, with compute slices, or parts of all cores, as units."""
        table = np.zeros((len(self.once), UNITS))
        for k in {int(k) for cut in self.cuts for k in cut}:
            at = int(self.units[k]) - 1
            table[:, at] = np.maximum(table[:, at], self.capacity_rps[:, k])
        return table


def _units(size: PartitionSize, entry: FleetType) -> int:
    """Returns of how many units a partition of a GPU or a CPU is."""
    if size.mig is not None:
        return min(size.mig.compute_slices, UNITS)
    if size.cores is not None and isinstance(entry.gpu, Cpu):
        return max(1, UNITS * size.cores // int(entry.gpu.cores.value))
    return UNITS
