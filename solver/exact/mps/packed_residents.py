"""
All workloads on GPUs of one type under MPS, packed in a moment: a first plan where no better one is known yet.

What is placed is what iGniter's rules ask for (performance/igniter_rules.py); under `free` rules in equal parts, as few
as a workload may have and needs, each with the batch size with which it needs least of a GPU alone.

As many GPUs are opened as the shares that all need alone would fill, the largest residents on one each. Then every GPU
in turn takes the largest that its room could hold alone, and the least shares on all GPUs are found at once
(interference/least_shares.py): where they fit, it stays; where they do not, that GPU takes only smaller ones from then
on. Who is left over opens further GPUs.

Every resident fits a GPU alone, so it ends, and a GPU holds what its least shares say. iGniter's loop packs a little
tighter, but looks at one workload after the other: thousands take it seconds, this a tenth of that.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu, Resident, renumbered
from ...performance.alone import alone_on
from ...performance.igniter_rules import Demand, IgniterDemands, alone_units, demands, least_share_batches
from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem

DEARNESS = 1.15
"""How much dearer than the fluid sets of residents are taken to be at first."""


def packed_on_each(resolved: ResolvedProblem) -> list[list[MpsGpu]]:
    """Returns GPUs that host all workloads, however many there are: of each type that can host them."""
    packed = [packed_residents(resolved, mps) for mps in resolved.mps.values()]
    return [gpus for gpus in packed if gpus]


def packed_residents(resolved: ResolvedProblem, mps: MpsType) -> list[MpsGpu] | None:
    """Returns GPUs of one type, as many as it takes, that host all workloads; None: it cannot host some."""
    if resolved.problem.settings.mps_rules == "free":
        residents = _freely_demanded(resolved, mps)
        return None if residents is None else _packed(mps, residents)
    asked = demands(resolved, mps)
    if not isinstance(asked, IgniterDemands):
        return None
    dedicated = [
        MpsGpu(mps.gpu, (Resident(one.workload, one.batch, mps.percent_of(one.least_units)),))
        for one in asked.dedicated
    ]
    return [*dedicated, *_packed(mps, asked.shared)]


def packed_some(resolved: ResolvedProblem, rows: Ints, gpu: str) -> list[AllocatedGpu] | None:
    """Returns GPUs of one type that host some of the workloads; None: it cannot host one of them."""
    own = resolved.restricted_to(rows.tolist())
    packed = packed_residents(own, own.mps[gpu])
    return None if packed is None else [renumbered(host, rows.tolist()) for host in packed]


def _freely_demanded(resolved: ResolvedProblem, mps: MpsType) -> list[Demand] | None:
    """
    Returns the residents of all workloads, with as few equal parts of each rate as it may have and needs.

    Each has the batch size with which it needs least of a GPU alone. None: some workload cannot be hosted.
    """
    workloads = resolved.problem.workloads
    own = np.arange(len(workloads))
    parts = np.array([workload.min_replicas for workload in workloads], dtype=np.int64)
    limit, required = resolved.limit_ms, resolved.required_rps / parts
    batch = least_share_batches(mps, own, limit, required)
    units, fits = alone_units(mps, own, batch, limit, required)
    if not fits.all():
        large = np.flatnonzero(~fits)
        greatest = alone_on(mps, limit).greatest_rps[large]
        if not (greatest > 0).all():
            return None
        fewest = np.ceil(resolved.required_rps[large] / greatest - ROUNDING).astype(np.int64)
        parts[large] = np.maximum(parts[large], fewest)
        required[large] = resolved.required_rps[large] / parts[large]
        batch[large] = least_share_batches(mps, large, limit[large], required[large])
        units[large], fits[large] = alone_units(mps, large, batch[large], limit[large], required[large])
    most = np.array([workload.max_replicas or parts[w] for w, workload in enumerate(workloads)])
    if not fits.all() or (parts > most).any():
        return None
    return [
        one
        for w, times in enumerate(parts.tolist())
        for one in [
            Demand(w, int(batch[w]), float(limit[w]), float(required[w]), int(units[w]), float(mps.demand_mib[w]))
        ]
        * times
    ]


ROUNDING = 1e-9
"""Part of a rate that may be missing by rounding."""


def _packed(mps: MpsType, asked: Sequence[Demand]) -> list[MpsGpu]:
    room = _Room(mps, asked)
    gpus: list[_Gpu] = []
    waiting = sorted(range(len(asked)), key=lambda one: asked[one].least_units)  # the largest last
    while waiting:
        wanted = ceil(sum(asked[one].least_units for one in waiting) / mps.capacity_units)
        opened = [_Gpu([one], [asked[one].least_units], mps.capacity_units) for one in waiting[-wanted:]]
        del waiting[-wanted:]
        _fill(room, opened, waiting)
        gpus += opened
    return [
        MpsGpu(
            mps.gpu,
            tuple(
                Resident(asked[one].workload, asked[one].batch, mps.percent_of(units))
                for one, units in zip(gpu.residents, gpu.units, strict=True)
            ),
        )
        for gpu in gpus
    ]


@dataclass
class _Gpu:
    """A GPU that is open: its residents by their place among the demands, and their shares."""

    residents: list[int]
    units: list[int]
    largest: int
    """Units, alone, of the largest resident that it may still take."""


@dataclass(frozen=True, eq=False)
class _Room:
    """What demands need together."""

    mps: MpsType
    asked: Sequence[Demand]

    @cached_property
    def columns(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Workload, batch size, greatest latency and least throughput of each demand, shape (demand,)."""
        return (
            np.array([one.workload for one in self.asked], dtype=np.int64),
            np.array([one.batch for one in self.asked], dtype=np.int64),
            np.array([one.limit_ms for one in self.asked]),
            np.array([one.required_rps for one in self.asked]),
        )

    def candidate(self, gpu: _Gpu, waiting: Sequence[int]) -> int | None:
        """Returns the place in the queue of the largest that a GPU could still take; None: it takes nobody."""
        if len(gpu.residents) >= self.mps.clients:
            return None
        room = min(gpu.largest, self.mps.capacity_units - sum(gpu.units))
        memory = self.mps.memory_mib - sum(self.asked[one].memory_mib for one in gpu.residents)
        at = bisect_right(waiting, room, key=lambda one: self.asked[one].least_units) - 1
        while at >= 0 and self.asked[waiting[at]].memory_mib > memory:
            at -= 1
        return at if at >= 0 else None

    def together(self, gpus: Sequence[_Gpu], joining: Sequence[int]) -> tuple[Ints, np.ndarray]:
        """Returns the least shares on each GPU with one resident more, who comes last, and which of these fit."""
        sets = [[*gpu.residents, one] for gpu, one in zip(gpus, joining, strict=True)]
        shape = (len(sets), max(map(len, sets)))
        chosen, start = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, (members, gpu) in enumerate(zip(sets, gpus, strict=True)):
            chosen[row, : len(members)] = members
            start[row, : len(members)] = [*gpu.units, self.asked[members[-1]].least_units]
        here = chosen >= 0
        workload, batch, limit, required = self.columns
        return self.mps.least_shares(
            np.where(here, workload[chosen], -1),
            batch[chosen],
            limit[chosen],
            required[chosen],
            start=start,
        )


def _fill(room: _Room, gpus: Sequence[_Gpu], waiting: list[int]) -> None:
    """Puts residents that wait, the largest last, on open GPUs until none takes one any more."""
    taking = list(gpus)
    while taking:
        trying, joining = [], []
        for gpu in taking:
            at = room.candidate(gpu, waiting)
            if at is not None:
                trying.append(gpu)
                joining.append(waiting.pop(at))
        if not trying:
            return
        units, fits = room.together(trying, joining)
        for gpu, one, own, fit in zip(trying, joining, units.tolist(), fits.tolist(), strict=True):
            if fit:
                gpu.residents.append(one)
                gpu.units = own[: len(gpu.residents)]
            else:
                gpu.largest = room.asked[one].least_units - 1
                insort(waiting, one, key=lambda other: room.asked[other].least_units)
        taking = trying
