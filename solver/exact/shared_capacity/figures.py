"""
What each workload carries on a GPU under MPS, for every batch size and share, among residents that ask for so much.

A content is what stands on one GPU: residents, each a workload with a batch size and a share.
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
class Choices:
    """What a resident may be, each a workload with a share and a batch size, ascending in this order."""

    workload: Ints
    """Shape (choice,): indices into the problem's workloads, as everywhere here."""
    units: Ints
    batch: Ints
    demands: Channels
    """What each asks of what all share; an array a channel."""

    @cached_property
    def starts(self) -> Ints:
        """Where the choices of a workload with a share begin."""
        key = self.workload * (int(self.units.max(initial=0)) + 1) + self.units
        return np.flatnonzero(np.diff(key, prepend=-1))

    def of(self, kept: np.ndarray) -> "Choices":
        """Returns some of them; `kept`, shape (choice,): whether."""
        demands = tuple(own[kept] for own in self.demands)
        return Choices(self.workload[kept], self.units[kept], self.batch[kept], demands)

    def __len__(self) -> int:
        return len(self.workload)


@dataclass(frozen=True, eq=False)
class Figures:
    """What residents of GPUs of a type carry; arrays have the shape (workload of the problem,)."""

    mps: MpsType
    limit_ms: Floats
    once: np.ndarray
    """Whether it may have one resident only."""
    least_rps: Floats
    """
    Requests/s that a resident carries in any plan; of those with one resident their
    rate, as no other resident carries any of it, of the others 0.
    """

    @classmethod
    def of(cls, resolved: ResolvedProblem, mps: MpsType) -> "Figures":
        """Returns them for a GPU type of the fleet."""
        once = np.array([workload.max_replicas == 1 for workload in resolved.problem.workloads])
        least_rps = np.where(once, resolved.required_rps * (1 - TOLERANCE), 0.0)
        return cls(mps, resolved.limit_ms, once, least_rps)

    @cached_property
    def choices(self) -> Choices:
        """What a resident may be at all: those that alone are in time and carry what they have to."""
        mps = self.mps
        parts = [
            np.stack(np.meshgrid([w], mps.shares, mps.batches[w], indexing="ij")).reshape(3, -1)
            for w in np.flatnonzero(mps.usable & (mps.demand_mib <= mps.memory_mib)).tolist()
        ]
        workload, units, batch = np.concatenate([np.zeros((3, 0), dtype=np.int64), *parts], axis=1)
        ability = mps.model.ability_rps(workload, batch, mps.percent(units))
        every = Choices(workload, units, batch, mps.model.demands_at(workload, ability))
        return every.of(self.carried_beside(every, every.demands, 1) > 0)

    @cached_property
    def least_demands(self) -> tuple[float, ...]:
        """What a resident asks for at least, a number a channel."""
        return tuple(float(own.min(initial=np.inf)) if len(own) else 0.0 for own in self.choices.demands)

    def carried_among(self, choices: Choices, totals: Sequence[float], residents: int) -> Floats:
        """
        Returns requests/s within the latency limit, 0 for those too slow or with less than they have to carry.

        `totals`: what all residents ask for together, a number a channel. Of lower limits of totals and residents it is
        an upper limit: latency never falls with either, and all together ask for no less than each does itself, and
        every other at least.
        """
        asked = tuple(
            np.maximum(total, own + (residents - 1) * least)
            for total, own, least in zip(totals, choices.demands, self.least_demands, strict=True)
        )
        return self.carried_beside(choices, asked, residents)

    def carried_beside(self, choices: Choices, totals: Channels, residents: int) -> Floats:
        """
        Returns requests/s within the latency limit, 0 for those too slow or with less than they have to carry.

        `totals`: what each and all beside it ask for together, shape (choice,), an array a channel.
        """
        mps, workload = self.mps, choices.workload
        latency, throughput = mps.model.among(
            workload, choices.batch, mps.percent(choices.units), totals=totals, residents=np.array(residents)
        )
        in_time = latency <= self.limit_ms[workload] * (1 + TOLERANCE)
        return np.where(in_time & (throughput >= self.least_rps[workload]), throughput, 0.0)

    def content(self, residents: Sequence[Resident]) -> Content | None:
        """Returns residents with what they carry; without those too slow, without memory or carrying too little."""
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
            little = figures.throughput_rps[0] < self.least_rps[workload[0]]
            if late.max() <= 1 + TOLERANCE and not little.any():
                return Content(MpsGpu(mps.gpu, tuple(kept)), tuple(figures.throughput_rps[0].tolist()))
            kept.pop(int(np.where(little, 2 * late.max(), late).argmax()))
        return None
