"""
Services that join GPUs under MPS which have room for them: those first that save most elsewhere.

A plan of some services leaves a part of most GPUs unused, and of the last of them much. Any other service that fits
there as a resident saves what it costs elsewhere. Residents keep their batch sizes, and get larger shares where the new
one asks for that.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...allocation.allocated import MpsGpu, Resident
from ...performance.igniter_rules import alone_units, least_share_batches
from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem

MOST_TRIED = 32
"""Services that are tried on each GPU at a time, those that save most."""


def joined(resolved: ResolvedProblem, gpus: Sequence[MpsGpu], saves: Floats) -> list[MpsGpu]:
    """
    Returns the GPUs with services that join them, each whole and as one resident.

    Parameters
    ----------
    saves
        What each workload costs where it is now, shape (workload,), USD per hour; 0: it stays there.
    """
    replicas = Counter(w for gpu in gpus for w in gpu.workloads)
    found = list(gpus)
    left = saves.copy()
    for mps in resolved.mps.values():
        # What a resident carries of a service that has several is not written on the GPU.
        here = [g for g, gpu in enumerate(gpus) if gpu.gpu == mps.gpu and all(replicas[w] == 1 for w in gpu.workloads)]
        for g, full in zip(here, _Joining(resolved, mps, left).fill([gpus[g] for g in here]), strict=True):
            found[g] = full
            left[list(full.workloads)] = 0.0
    return found


class _Joining:
    """Services that may join GPUs of one type, as residents with the batch of their least share alone."""

    def __init__(self, resolved: ResolvedProblem, mps: MpsType, saves: Floats) -> None:
        self._mps, self._limit, self._required = mps, resolved.limit_ms, resolved.required_rps
        single = np.array([one.min_replicas <= 1 for one in resolved.problem.workloads], dtype=np.bool_)
        rows = np.flatnonzero(single & (saves > 0) & mps.usable)
        batch = least_share_batches(mps, rows, self._limit[rows], self._required[rows])
        units, fits = alone_units(mps, rows, batch, self._limit[rows], self._required[rows])
        order = np.argsort(-saves[rows], kind="stable")
        order = order[fits[order]]
        self._rows, self._batch, self._units = rows[order], batch[order], units[order]
        self._saves, self._waits = saves[rows[order]], np.ones(len(order), dtype=np.bool_)

    def fill(self, gpus: Sequence[MpsGpu]) -> list[MpsGpu]:
        """Returns the GPUs with those that join, in turns of one for each GPU at most."""
        found, open_ = list(gpus), list(range(len(gpus)))
        while open_:
            pairs = [(g, one) for g in open_ for one in self._candidates(found[g])]
            if not pairs:
                break
            units, fits = self._together([(found[g], one) for g, one in pairs])
            taken: set[int] = set()
            for at in sorted(np.flatnonzero(fits).tolist(), key=lambda at: -float(self._saves[pairs[at][1]])):
                g, one = pairs[at]
                if g in taken or not self._waits[one]:
                    continue
                taken.add(g)
                self._waits[one] = False
                found[g] = self._with(found[g], one, units[at])
            # One that took nobody may have been asked about those alone that others took.
            tried = {g for g, _ in pairs}
            lost = {g for (g, _), fit in zip(pairs, fits.tolist(), strict=True) if fit}
            open_ = [g for g in open_ if g in taken or (g in tried and g in lost)]
        return found

    def _candidates(self, gpu: MpsGpu) -> list[int]:
        """Returns who may fit, those that save most first."""
        room = self._mps.capacity_units - sum(round(one.percent / self._mps.unit_percent) for one in gpu.residents)
        if len(gpu.residents) >= self._mps.clients:
            return []
        memory = self._mps.memory_mib - sum(float(self._mps.demand_mib[w]) for w in gpu.workloads)
        fits = self._waits & (self._units <= room) & (self._mps.demand_mib[self._rows] <= memory)
        return [int(one) for one in np.flatnonzero(fits)[:MOST_TRIED]]

    def _together(self, sets: Sequence[tuple[MpsGpu, int]]) -> tuple[Ints, np.ndarray]:
        """Returns the least shares of GPUs with one resident more, who comes last, and which of these fit."""
        shape = (len(sets), max(len(gpu.residents) for gpu, _ in sets) + 1)
        workload, batch = np.full(shape, -1, dtype=np.int64), np.ones(shape, dtype=np.int64)
        for row, (gpu, one) in enumerate(sets):
            workload[row, : len(gpu.residents) + 1] = [*gpu.workloads, self._rows[one]]
            batch[row, : len(gpu.residents) + 1] = [*(own.batch for own in gpu.residents), self._batch[one]]
        return self._mps.least_shares(workload, batch, self._limit[workload], self._required[workload])

    def _with(self, gpu: MpsGpu, one: int, units: Ints) -> MpsGpu:
        batches = [*((own.workload, own.batch) for own in gpu.residents), (self._rows[one], self._batch[one])]
        residents = (
            Resident(int(workload), int(batch), self._mps.percent_of(int(own)))
            for (workload, batch), own in zip(batches, units.tolist(), strict=False)
        )
        return replace(gpu, residents=tuple(residents))
