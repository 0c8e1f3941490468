"""
Where each workload is cheapest at given slice prices, by partitions or as a resident under MPS, and its hosts there.

What residents take is known as a fluid only; sets of them are dearer, by as much as is said to be expected.
"""

from dataclasses import replace

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..covers.covers import cheapest_covers
from ..covers.demands import Demands
from ..mps.packed_residents import packed_some

CUT = -1
"""Stands for the type under MPS of workloads that partitions serve."""


def costs_by_way(demands: Demands, price: Floats, dearness: Floats) -> tuple[Floats, Floats]:
    """
    Returns what each workload costs as a resident of each type, and by partitions alone; inf: it cannot be.

    Shapes (workload, type under MPS) and (workload,).

    Parameters
    ----------
    price
        Shape (size,), then of each type under MPS, USD per hour.
    dearness
        Shape (type under MPS,): how much dearer than the fluid residents are taken to be.
    """
    if demands.shared is None:
        raise ValueError("no GPUs of the fleet may be shared by MPS")
    of_size, of_shared = np.split(price, [demands.part.shape[1]])
    by_partitions = np.full(len(demands.least), np.inf)
    rows = np.flatnonzero(demands.can_be_covered())
    by_partitions[rows] = cheapest_covers(replace(demands.of(rows), shared=None), of_size).floor
    fluid = demands.shared.gpus
    with np.errstate(invalid="ignore"):  # what costs nothing and cannot be there
        by_shares = np.where(np.isfinite(fluid), fluid * (of_shared * dearness), np.inf)
    return by_shares, by_partitions


def cheapest_types(demands: Demands, price: Floats, dearness: Floats) -> Ints:
    """
    Returns the type under MPS on which each workload is cheapest, shape (workload,); CUT: partitions cost no more.

    Arguments as for `costs_by_way`. A workload that can be nowhere is CUT, too.
    """
    if demands.shared is None:
        return np.full(len(demands.least), CUT)
    by_shares, by_partitions = costs_by_way(demands, price, dearness)
    return np.where(by_partitions <= by_shares.min(axis=1), CUT, by_shares.argmin(axis=1))


def hosts_of(resolved: ResolvedProblem, on_type: Ints) -> list[AllocatedGpu] | None:
    """Returns GPUs under MPS that host workloads, each on its type (`cheapest_types`); None: one cannot be hosted."""
    hosts: list[AllocatedGpu] = []
    for g, gpu in enumerate(resolved.mps):
        rows = np.flatnonzero(on_type == g)
        packed = packed_some(resolved, rows, gpu) if rows.size else []
        if packed is None:
            return None
        hosts += packed
    return hosts
