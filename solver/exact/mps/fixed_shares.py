"""
Residents of GPUs under MPS that keep the shares that they have: what they carry, and who else has room beside them.

A share that runs goes on as it is, whoever else comes and goes. So what counts is what the interference model says at
these shares, not the least ones. Whoever leaves makes nobody slower (`MonotoneModel`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...allocation.allocated import MpsGpu, Resident
from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.operating_points import OperatingPoints
from ...performance.resolve import ResolvedProblem

ROUNDING = 1e-9
"""Part of a rate, or of a GPU, that may be missing by rounding."""


def carried_rps(resolved: ResolvedProblem, gpus: Sequence[MpsGpu]) -> list[Floats]:
    """Returns what the residents of each GPU carry by the problem's rule; 0: it is too slow."""
    found: list[Floats] = [np.zeros(0)] * len(gpus)
    for name, mps in resolved.mps.items():
        own = [i for i, gpu in enumerate(gpus) if gpu.gpu == name]
        if not own:
            continue
        shape = (len(own), max(len(gpus[i].residents) for i in own))
        workload, batch = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=np.int64)
        percent = np.zeros(shape)
        for row, i in enumerate(own):
            for place, one in enumerate(gpus[i].residents):
                workload[row, place], batch[row, place], percent[row, place] = one.workload, one.batch, one.percent
        carried = _carried(resolved, mps, workload, batch, percent)
        for row, i in enumerate(own):
            found[i] = carried[row, : len(gpus[i].residents)]
    return found


def alone_rps(resolved: ResolvedProblem, mps: MpsType) -> Floats:
    """Returns the most that each workload carries that has all shares of a GPU, shape (workload,); 0: nothing."""
    found = np.zeros(len(resolved.required_rps))
    rows = np.flatnonzero(mps.usable)
    if not rows.size:
        return found
    workload = np.repeat(rows, [len(mps.batches[w]) for w in rows.tolist()])
    batch = np.concatenate([mps.batches[w] for w in rows.tolist()])
    percent = np.full(workload.shape, mps.percent_of(mps.capacity_units))
    carried = _carried(resolved, mps, workload[:, None], batch[:, None], percent[:, None])[:, 0]
    np.maximum.at(found, workload, carried)
    return found


def has_room(mps: MpsType, gpu: MpsGpu) -> bool:
    """Tells whether shares, memory and MPS clients of a GPU's residents are no more than there are."""
    units = sum(round(one.percent / mps.unit_percent) for one in gpu.residents)
    memory = sum(float(mps.demand_mib[w]) for w in gpu.workloads)
    return (
        units <= mps.capacity_units and len(gpu.residents) <= mps.clients and memory <= mps.memory_mib * (1 + ROUNDING)
    )


def least_resident(
    resolved: ResolvedProblem, gpu: MpsGpu, workload: int, batches: Ints, part: float = 1.0
) -> Resident | None:
    """
    Returns a workload as a resident that carries a part of its rate, with the smallest share that does; None: none.

    All who are there, each the only replica of its service, keep their shares and carry their rates beside it.

    Parameters
    ----------
    batches
        Batch sizes that it may have.
    """
    mps = resolved.mps[gpu.gpu]
    room = mps.capacity_units - sum(round(one.percent / mps.unit_percent) for one in gpu.residents)
    if room < mps.least_units or not batches.size or not mps.usable[workload]:
        return None
    units, batch = (grid.ravel() for grid in np.meshgrid(mps.shares[mps.shares <= room], batches, indexing="ij"))
    last = Resident(workload, 1, mps.percent_of(mps.least_units))
    if not has_room(mps, replace(gpu, residents=(*gpu.residents, last))):
        return None
    there = gpu.residents
    shape = (len(units), len(there) + 1)
    of_all = np.broadcast_to(np.array([*gpu.workloads, workload], dtype=np.int64), shape)
    of_batch, percent = np.ones(shape, dtype=np.int64), np.zeros(shape)
    of_batch[:, :-1], percent[:, :-1] = [one.batch for one in there], [one.percent for one in there]
    of_batch[:, -1], percent[:, -1] = batch, mps.percent(units)
    required = resolved.required_rps[of_all] * (1 - ROUNDING)
    required[:, -1] *= part
    rows = np.flatnonzero((_carried(resolved, mps, of_all, of_batch, percent) >= required).all(axis=1))
    if not rows.size:
        return None
    # Units rise along the rows.
    best = int(rows[0])
    return Resident(workload, int(batch[best]), mps.percent_of(int(units[best])))


def _carried(resolved: ResolvedProblem, mps: MpsType, workload: Ints, batch: Ints, percent: Floats) -> Floats:
    """Returns what residents carry by the rule, all arrays of shape (GPU, resident); a share of 0: nobody is there."""
    found = mps.model.predict(workload, batch, percent)
    here = percent > 0
    points = OperatingPoints(
        batch[here],
        np.ones(int(here.sum()), dtype=np.int64),
        found.latency_ms[here],
        found.throughput_rps[here],
        np.full(int(here.sum()), np.nan),
    )
    carried = np.zeros(percent.shape)
    carried[here] = resolved.rule.greatest_rps(points, resolved.asked.of(workload[here]))
    return carried
