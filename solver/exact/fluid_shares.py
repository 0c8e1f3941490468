"""
What a workload takes of GPUs under MPS at least, were they a fluid that is given away in any amounts.

    f_wg = R_w / U  min u / min(throughput, R_w)     over the batch sizes and the shares of u units within the SLO

U: the units of a GPU of type g. Each resident is as fast as alone on its GPU, because neighbours never make it faster
(interference/igniter.py), and carries at most the rate R_w; so no plan carries the rate with fewer GPUs' worth of
units, whatever its number of residents. A workload that may not be split takes its least share alone at least.
"""

from dataclasses import replace

import numpy as np

from ..performance.igniter_rules import alone_units
from ..performance.interference.prediction import Floats, Ints
from ..performance.mps_sharing import MpsType
from ..performance.resolve import ResolvedProblem
from .shared_items import classes_of

CHUNK = 256
"""Workloads whose shares and batch sizes are predicted together."""


def fluid_gpus(resolved: ResolvedProblem) -> Floats:
    """Returns f, shape (workload, type under MPS), in GPUs; inf: the type cannot carry the workload."""
    columns = [_of_type(resolved, mps) for mps in resolved.mps.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(resolved.required_rps), 0))


def fluid_of(resolved: ResolvedProblem, rate: float = 1.0) -> Floats:
    """Returns what a multiple of each rate takes of GPUs under MPS at least, as `fluid_gpus`, alike workloads once."""
    classes = classes_of(resolved)
    first = resolved.restricted_to([members[0] for members in classes])
    of_class = fluid_gpus(replace(first, required_rps=first.required_rps * rate))
    fluid = np.zeros((len(resolved.required_rps), of_class.shape[1]))
    for c, members in enumerate(classes):
        fluid[list(members)] = of_class[c]
    return fluid


def _of_type(resolved: ResolvedProblem, mps: MpsType) -> Floats:
    fewest = np.full(len(resolved.required_rps), np.inf)
    fits = mps.usable & (mps.demand_mib <= mps.memory_mib)
    units = np.arange(1, mps.capacity_units + 1)
    rows = np.flatnonzero(fits)
    for begin in range(0, len(rows), CHUNK):
        own = rows[begin : begin + CHUNK]
        batch = _batches(mps, own)
        shape = (*batch.shape, len(units), 1)
        figures = mps.model.predict(
            np.broadcast_to(own[:, None, None, None], shape),
            np.broadcast_to(np.maximum(batch, 1)[..., None, None], shape),
            np.broadcast_to(mps.percent(units)[:, None], shape),
        )
        fast = figures.latency_ms[..., 0] <= resolved.limit_ms[own, None, None] * (1 + 1e-9)
        required = resolved.required_rps[own, None, None]
        carried = np.maximum(np.minimum(figures.throughput_rps[..., 0], required), 1e-12)
        taken = np.where(fast & (batch > 0)[..., None], units * required / carried, np.inf)
        fewest[own] = taken.min(axis=(1, 2)) / mps.capacity_units
    whole = np.array([workload.max_replicas == 1 for workload in resolved.problem.workloads], dtype=bool)
    rows = np.flatnonzero(whole & fits)
    fewest[rows] = np.maximum(fewest[rows], _least_parts(resolved, mps, rows))
    return fewest


def _least_parts(resolved: ResolvedProblem, mps: MpsType, rows: Ints) -> Floats:
    """Returns the part of a GPU that workloads need alone with their best batch sizes; inf: a GPU is not enough."""
    if not rows.size:
        return np.zeros(0)
    batch = _batches(mps, rows)
    own = np.repeat(rows, batch.shape[1])
    units, fit = alone_units(mps, own, np.maximum(batch, 1).ravel(), resolved.limit_ms[own], resolved.required_rps[own])
    usable = fit.reshape(batch.shape) & (batch > 0)
    return np.asarray(np.where(usable, units.reshape(batch.shape), np.inf).min(axis=1) / mps.capacity_units)


def _batches(mps: MpsType, rows: Ints) -> Ints:
    """Returns the batch sizes of workloads, shape (workload, choice); 0: no further choice."""
    most = max(len(mps.batches[w]) for w in rows.tolist())
    batch = np.zeros((len(rows), most), dtype=np.int64)
    for row, w in enumerate(rows.tolist()):
        batch[row, : len(mps.batches[w])] = mps.batches[w]
    return batch
