"""
What a workload achieves alone on a GPU under MPS, at every share that it may have there.

A larger share shortens the active time, and it raises the power demand; beyond the GPU's limit the clock falls for all
of t_gpu (interference/igniter.py). With a steep power slope the clock loses more than the share gains: all of a GPU is
then not the fastest share, and may be too slow where a smaller one is not. So no share stands for the others here:
whoever asks what a workload achieves at best is told the best of all of them. That depends on the model and the batch
size, and not on rate or SLO, so it is looked up once for all workloads of a kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .interference.prediction import Floats, Ints
from .latency_rules.rule import TOLERANCE
from .mps_sharing import MpsType
from .operating_points import OperatingPoints

MOST_PREDICTED = 1 << 18
"""Operating points that are predicted together."""


@dataclass(frozen=True, eq=False)
class EveryShare:
    """One kind of workload alone on a GPU of one type. Arrays have shape (batch size, share)."""

    batch: Ints
    """Shape (batch size,), ascending."""
    units: Ints
    """Shape (share,), ascending: of every share that the GPU type has."""
    latency_ms: Floats
    throughput_rps: Floats

    @property
    def points(self) -> int:
        """How many operating points there are."""
        return self.latency_ms.size

    @property
    def operating_points(self) -> OperatingPoints:
        """All of them, batch size by batch size."""
        batch = np.repeat(self.batch, self.latency_ms.shape[1])
        latency, throughput = self.latency_ms.ravel(), self.throughput_rps.ravel()
        return OperatingPoints(batch, np.ones_like(batch), latency, throughput, np.full(batch.size, np.nan))

    def of_share(self, share: int) -> OperatingPoints:
        """Returns those of one share, by its index."""
        of = self.operating_points
        return of.where(np.arange(len(self.batch)) * self.latency_ms.shape[1] + share)


@dataclass(frozen=True, eq=False)
class Alone:
    """What every workload achieves alone on a GPU, at its best share; arrays have shape (workload,)."""

    greatest_rps: Floats
    """Greatest rate that the latency rule allows; 0: no operating point is fast enough, or the type not usable."""
    fastest_ms: Floats
    """Least latency of any operating point; inf: the type is not usable."""
    fastest_batch: Ints
    fastest_percent: Floats


def at_every_share(mps: MpsType, workload: int) -> EveryShare:
    """Returns what a workload achieves alone on a GPU with each of its batch sizes and each share."""
    batch = mps.batches[workload]
    percent = mps.percent(mps.shares)
    latency, throughput = np.empty((len(batch), len(percent))), np.empty((len(batch), len(percent)))
    step = max(MOST_PREDICTED // max(len(percent), 1), 1)
    for begin in range(0, len(batch), step):
        some = batch[begin : begin + step]
        shape = (len(some), len(percent), 1)
        figures = mps.model.predict(
            np.full(shape, workload),
            np.broadcast_to(some[:, None, None], shape),
            np.broadcast_to(percent[None, :, None], shape),
        )
        latency[begin : begin + step] = figures.latency_ms[..., 0]
        throughput[begin : begin + step] = figures.throughput_rps[..., 0]
    return EveryShare(batch, mps.shares, latency, throughput)


def each_kind(mps: MpsType) -> Iterator[tuple[Ints, EveryShare]]:
    """Yields the workloads of each kind that a GPU of a type may host, and what one of them achieves there alone."""
    rows = np.flatnonzero(mps.usable & (mps.demand_mib <= mps.memory_mib))
    rows = rows[np.argsort(mps.kind[rows], kind="stable")]
    for own in np.split(rows, np.flatnonzero(np.diff(mps.kind[rows])) + 1) if rows.size else ():
        yield own, at_every_share(mps, int(own[0]))


def alone_on(mps: MpsType, limit_ms: Floats) -> Alone:
    """
    Returns what every workload achieves alone on a GPU of a type.

    `limit_ms`, shape (workload,): what a batch may take, where no more than that is promised.
    """
    workloads = len(limit_ms)
    greatest, fastest = np.zeros(workloads), np.full(workloads, np.inf)
    batch, units = np.zeros(workloads, dtype=np.int64), np.zeros(workloads, dtype=np.int64)
    for rows, alone in each_kind(mps):
        greatest[rows] = _greatest(mps, rows, alone, limit_ms[rows])
        at, share = np.unravel_index(np.argmin(alone.latency_ms), alone.latency_ms.shape)
        fastest[rows] = alone.latency_ms[at, share]
        batch[rows], units[rows] = alone.batch[at], alone.units[share]
    return Alone(greatest, fastest, batch, mps.percent(units))


def _greatest(mps: MpsType, rows: Ints, alone: EveryShare, limit_ms: Floats) -> Floats:
    if mps.promise is None:
        return greatest_within(alone.latency_ms, alone.throughput_rps, limit_ms)
    [(_, carried)] = mps.promise.rule.best_of([(alone.operating_points, mps.promise.asked.of(rows))])
    return carried


def greatest_within(latency_ms: Floats, throughput_rps: Floats, limit_ms: Floats) -> Floats:
    """
    Returns the greatest throughput within each latency limit, 0 where nothing is fast enough; shape (workload,).

    `latency_ms` and `throughput_rps` are those of any operating points, of one shape.
    """
    order = np.argsort(latency_ms, axis=None)
    best = np.maximum.accumulate(throughput_rps.ravel()[order])
    within = np.searchsorted(latency_ms.ravel()[order], limit_ms * (1 + TOLERANCE), side="right")
    return np.where(within > 0, best[np.maximum(within - 1, 0)], 0.0)
