"""
What each workload carries on a GPU under MPS, for every batch size and share, among residents that ask for so much.

A content is residents, each a workload with a batch size and a share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...allocation.allocated import MpsGpu, Resident
from ...performance.carried_beside import carried_beside
from ...performance.interference.prediction import Channels, Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem
from .gpu_contents import Content, Counted

TOLERANCE = 1e-9
"""Relative; a latency that is equal to its limit but for rounding keeps it."""


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
        """Returns some of them; `kept`, shape (choice,): whether; or which."""
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
    counted: Counted
    least_rps: Floats
    """
    Requests/s that a resident carries in any plan; of those with one resident their
    rate, as no other resident carries any of it, of the others 0.
    """

    @classmethod
    def of(cls, resolved: ResolvedProblem, mps: MpsType, counted: Counted) -> "Figures":
        """Returns them for a GPU type of the fleet."""
        once = np.array([workload.max_replicas == 1 for workload in resolved.problem.workloads])
        least_rps = np.where(once, resolved.required_rps * (1 - TOLERANCE), 0.0)
        return cls(mps, resolved.limit_ms, once, counted, least_rps)

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

    def carried_among(self, choices: Choices, totals: Sequence[float | Floats], residents: int | Ints) -> Floats:
        """
        Returns requests/s within the latency limit, 0 for those too slow or with less than they have to carry.

        `totals`: what all residents ask for together, for all choices or each. Of lower limits of totals and residents
        it is an upper limit: latency never falls with either, and all together ask for no less than each does itself,
        and every other at least.
        """
        asked = tuple(
            np.maximum(total, own + (residents - 1) * least)
            for total, own, least in zip(totals, choices.demands, self.least_demands, strict=True)
        )
        return self.carried_beside(choices, asked, residents)

    def carried_beside(self, choices: Choices, totals: Channels, residents: int | Ints) -> Floats:
        """
        Returns requests/s within the latency limit, 0 for those too slow or with less than they have to carry.

        `totals`: what each and all beside it ask for together, shape (choice,), an array a channel.
        """
        mps, workload = self.mps, choices.workload
        latency, throughput = mps.model.among(
            workload, choices.batch, mps.percent(choices.units), totals=totals, residents=np.array(residents)
        )
        carried = carried_beside(mps.promise, self.limit_ms, workload, choices.batch, latency, throughput)
        return np.where(carried >= self.least_rps[workload], carried, 0.0)

    def beside_one_another(self, workload: Ints, batch: Ints, percent: Floats) -> tuple[Floats, Floats]:
        """
        Returns the latency of each resident of each set in ms, and requests/s within the latency limit.

        Arrays have the shape (set, resident); where the share is 0 nobody is.
        """
        found = self.mps.model.predict(workload, batch, percent)
        latency, throughput = found.latency_ms, found.throughput_rps
        return latency, carried_beside(self.mps.promise, self.limit_ms, workload, batch, latency, throughput)

    def asked(self, content: Content) -> Floats:
        """Returns what residents ask for together, shape (channel,)."""
        assert isinstance(content.gpu, MpsGpu)
        residents = content.gpu.residents
        workload, batch = np.array([one.workload for one in residents]), np.array([one.batch for one in residents])
        percent = np.array([one.percent for one in residents])
        ability = self.mps.model.ability_rps(workload, batch, percent)
        return np.array([own.sum() for own in self.mps.model.demands_at(workload, ability)])

    def content(self, residents: Sequence[Resident]) -> Content | None:
        """Returns residents with what they carry; without those too slow, without memory or carrying too little."""
        return self.contents([residents])[0]

    def contents(self, sets: Sequence[Sequence[Resident]]) -> list[Content | None]:
        """Returns the content of each set of residents, as `content` does; None: nobody is left."""
        mps = self.mps
        width = max(map(len, sets), default=0)
        figures = np.zeros((len(sets), width, 3))
        for row, residents in enumerate(sets):
            figures[row, : len(residents)] = [(one.workload, one.batch, one.percent) for one in residents] or 0.0
        workload, batch = figures[:, :, 0].astype(np.int64), figures[:, :, 1].astype(np.int64)
        percent = np.where(np.arange(width) < mps.clients, figures[:, :, 2], 0.0)
        asked = np.cumsum(np.where(percent > 0, mps.demand_mib[workload], 0.0), axis=1)
        percent = np.where(asked <= mps.memory_mib, percent, 0.0)
        carried, limit = np.zeros_like(percent), self.limit_ms[workload]
        least = np.maximum(self.least_rps[workload], np.finfo(np.float64).tiny)
        open_ = np.flatnonzero((percent > 0).any(axis=1)) if width else np.zeros(0, dtype=np.int64)
        while len(open_):
            there = percent[open_] > 0
            latency, carried[open_] = self.beside_one_another(workload[open_], batch[open_], percent[open_])
            late = np.where(there, latency / limit[open_], 0.0)
            little = there & (late <= 1 + TOLERANCE) & (carried[open_] < least[open_])
            worst = np.where(little, np.inf, late)
            leaves = (worst > 1 + TOLERANCE) & (worst == worst.max(axis=1, keepdims=True))
            first = leaves & (np.cumsum(leaves, axis=1) == 1)
            percent[open_] = np.where(first, 0.0, percent[open_])
            open_ = open_[first.any(axis=1) & (there & ~first).any(axis=1)]
        return [
            self._content(residents, here, rps) for residents, here, rps in zip(sets, percent > 0, carried, strict=True)
        ]

    def _content(self, residents: Sequence[Resident], there: np.ndarray, carried: Floats) -> Content | None:
        """Returns those of residents who are there, with what they carry; None: nobody is."""
        at = np.flatnonzero(there[: len(residents)]).tolist()
        if not at:
            return None
        return Content(MpsGpu(self.mps.gpu, tuple(residents[i] for i in at)), tuple(carried[at].tolist()))
