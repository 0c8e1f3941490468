"""
What each workload carries on a GPU under MPS, for every batch size and share, among residents that ask for so much.

A content is what stands on one GPU: residents, each a workload with a batch size and a share. Arrays of a figure have
the shape (workload, batch size, share of 1 unit and up); the workloads are those that may use the type.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...allocation.allocated import MpsGpu, Resident
from ...performance.interference.prediction import Channels, Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem

TOLERANCE = 1e-9
"""Relative; a latency that is equal to its limit but for rounding keeps it."""


@dataclass(frozen=True)
class Content:
    """What stands on one GPU, and what it carries there."""

    gpu: MpsGpu
    carried: tuple[float, ...]
    """Requests/s of each resident, within its latency beside the others."""

    def rates(self, workloads: int) -> Floats:
        """Returns requests/s of each workload, shape (workload,)."""
        carried = np.array(self.carried, dtype=np.float64)
        return np.asarray(np.bincount(self.gpu.workloads, weights=carried, minlength=workloads), dtype=np.float64)

    def replicas(self, workloads: int) -> Ints:
        """Returns how many residents each workload has, shape (workload,)."""
        return np.bincount(self.gpu.workloads, minlength=workloads)


@dataclass(frozen=True, eq=False)
class Figures:
    """The workloads that may use GPUs of a type, with all their batch sizes."""

    mps: MpsType
    workload: Ints
    """Shape (row,): indices into the problem's workloads."""
    batch: Ints
    """Shape (row, choice); 0: there is no such choice."""
    limit_ms: Floats
    """Shape (workload of the problem,)."""
    once: np.ndarray
    """Shape (workload of the problem,): whether it may have one resident only."""

    @classmethod
    def of(cls, resolved: ResolvedProblem, mps: MpsType) -> "Figures":
        """Returns them for a GPU type of the fleet."""
        rows = np.flatnonzero(mps.usable & (mps.demand_mib <= mps.memory_mib))
        most = max((len(mps.batches[w]) for w in rows.tolist()), default=1)
        batch = np.zeros((len(rows), most), dtype=np.int64)
        for row, w in enumerate(rows.tolist()):
            batch[row, : len(mps.batches[w])] = mps.batches[w]
        once = np.array([workload.max_replicas == 1 for workload in resolved.problem.workloads])
        return cls(mps, rows, batch, resolved.limit_ms, once)

    @cached_property
    def demands(self) -> Channels:
        """What each asks of what all share."""
        model = self.mps.model
        return model.demands_at(self._of_each, model.ability_rps(self._of_each, self._batch, self._percent))

    def carried_among(self, totals: Sequence[float], residents: int) -> Floats:
        """
        Returns requests/s within the latency limit, 0 where it is too slow.

        `totals`: what all residents ask for together, a number a channel. Of lower limits of totals and residents it is
        an upper limit.
        """
        latency, throughput = self.mps.model.among(
            self._of_each,
            self._batch,
            self._percent,
            totals=tuple(np.array(total) for total in totals),
            residents=np.array(residents),
        )
        in_time = latency <= self.limit_ms[self._of_each] * (1 + TOLERANCE)
        return np.where(in_time & (self.batch > 0)[:, :, None], throughput, 0.0)

    def content(self, residents: Sequence[Resident]) -> Content | None:
        """Returns residents with what they carry; without those who are too slow or for whom there is no memory."""
        mps, kept = self.mps, list(residents)
        while kept:
            workload = np.array([[one.workload for one in kept]])
            needed = mps.demand_mib[workload[0]]
            if len(kept) > mps.clients or needed.sum() > mps.memory_mib:
                kept.pop()
                continue
            figures = mps.model.predict(
                workload, np.array([[one.batch for one in kept]]), np.array([[one.percent for one in kept]])
            )
            late = figures.latency_ms[0] / self.limit_ms[workload[0]]
            if late.max() <= 1 + TOLERANCE:
                return Content(MpsGpu(mps.gpu, tuple(kept)), tuple(figures.throughput_rps[0].tolist()))
            kept.pop(int(late.argmax()))
        return None

    @property
    def _of_each(self) -> Ints:
        return self.workload[:, None, None]

    @property
    def _batch(self) -> Ints:
        return np.maximum(self.batch, 1)[:, :, None]

    @property
    def _percent(self) -> Floats:
        return self.mps.percent(np.arange(1, self.mps.capacity_units + 1))[None, None, :]
