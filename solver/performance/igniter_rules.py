"""
iGniter's rules: one batch size for each workload, one GPU for each unless one is not enough (IEEE TPDS 2023).

The batch size is the one that carries the rate if a batch takes all of its time limit (eq. 17):

    b = ceil(S R B / (B + R d_load)),     S: the part of the SLO that execution may take

Mended: it is kept within the batch sizes that the workload may use; where that makes it smaller, the share must
make up for the rate, which the paper's eq. 18 does not ask for.

A workload for which a whole GPU is not enough gets dedicated GPUs, as in the artifact: each with the largest batch
that is fast enough at 100 %, and counted with 0.9 of its throughput there; the rest of the rate is served as usual.
Mended: the artifact writes the batch size of another workload for them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np

from ..model.plan import Unserved
from .interference.least_shares import least_shares
from .interference.prediction import Floats, Ints
from .mps_sharing import MpsType
from .resolve import ResolvedProblem

DEDICATED_PART = 0.9
"""Part of a dedicated GPU's throughput that is counted on (artifact)."""


@dataclass(frozen=True)
class Demand:
    """A workload, or what is left of it, that is to be placed as one resident."""

    workload: int
    batch: int
    limit_ms: float
    required_rps: float
    least_units: int
    """Share that it needs alone (eq. 18, and the rate where the batch was cut)."""
    memory_mib: float


@dataclass(frozen=True)
class Demands:
    """What iGniter's rules place on GPUs of one type."""

    shared: tuple[Demand, ...]
    """In the order of the workloads."""
    dedicated: tuple[Demand, ...]
    """Each takes a GPU for itself."""


def demands(
    resolved: ResolvedProblem, mps: MpsType, workloads: Iterable[int] | None = None
) -> Demands | list[Unserved]:
    """
    Returns what is to be placed on GPUs of one type, or the workloads that cannot be.

    Parameters
    ----------
    workloads
        Those to serve; None: all.
    """
    chosen = np.arange(len(resolved.required_rps)) if workloads is None else np.array(sorted(workloads), dtype=np.int64)
    limit = resolved.limit_ms[chosen]
    required = resolved.required_rps[chosen]
    batch = appropriate_batches(mps, chosen, limit, required)
    units, fits = alone_units(mps, chosen, batch, limit, required)
    shared, dedicated, unserved = [], [], []
    for i, w in enumerate(chosen.tolist()):
        one = Demand(w, int(batch[i]), float(limit[i]), float(required[i]), int(units[i]), float(mps.demand_mib[w]))
        if fits[i]:
            shared.append(one)
            continue
        replicas, rest = _too_large(mps, one)
        if rest is None:
            unserved.append(Unserved(workload=resolved.problem.workloads[w].name, reason=_reason(resolved, mps, one)))
            continue
        dedicated += replicas
        shared.append(rest)
    return unserved or Demands(tuple(shared), tuple(dedicated))


def appropriate_batches(mps: MpsType, workload: Ints, limit_ms: Floats, required_rps: Floats) -> Ints:
    """Returns the batch size of eq. 17, shape (workload,): the next allowed one, or else the greatest."""
    rate = required_rps / 1000
    wanted = np.ceil(limit_ms * rate / (1 + rate * mps.model.load_ms[workload]) - 1e-9).astype(np.int64)
    chosen = []
    for w, size in zip(workload.tolist(), wanted.tolist(), strict=True):
        allowed = mps.batches[w]
        chosen.append(int(allowed[min(np.searchsorted(allowed, size), len(allowed) - 1)]) if len(allowed) else 1)
    return np.array(chosen, dtype=np.int64)


def alone_units(
    mps: MpsType, workload: Ints, batch: Ints, limit_ms: Floats, required_rps: Floats
) -> tuple[Ints, np.ndarray]:
    """Returns the units that each workload needs alone on a GPU, and whether a GPU is enough; shape (workload,)."""
    units, fits = least_shares(
        mps.model,
        workload[:, None],
        batch[:, None],
        limit_ms[:, None],
        required_rps[:, None],
        unit_percent=mps.unit_percent,
        capacity_units=mps.capacity_units,
    )
    return units[:, 0], fits & mps.usable[workload] & (mps.demand_mib[workload] <= mps.memory_mib)


def _too_large(mps: MpsType, whole: Demand) -> tuple[list[Demand], Demand | None]:
    """Returns the dedicated GPUs of a workload and what is left of it; None: no batch is fast enough."""
    w = whole.workload
    batches = mps.batches[w]
    if not len(batches) or whole.memory_mib > mps.memory_mib:
        return [], None
    own = np.full((len(batches), 1), w)
    percent = np.full(own.shape, mps.capacity_units * mps.unit_percent)
    alone = mps.model.predict(own, batches[:, None], percent)
    fast = np.flatnonzero(alone.latency_ms[:, 0] <= whole.limit_ms)
    if not fast.size:
        return [], None
    batch = int(batches[fast[-1]])
    counted = DEDICATED_PART * float(alone.throughput_rps[fast[-1], 0])
    one = Demand(w, batch, whole.limit_ms, counted, mps.capacity_units, whole.memory_mib)
    for replicas in range(1, ceil(whole.required_rps / counted) + 1):
        rest = max(whole.required_rps - replicas * counted, 1e-3)
        limit, required = np.array([whole.limit_ms]), np.array([rest])
        size = appropriate_batches(mps, np.array([w]), limit, required)
        units, fits = alone_units(mps, np.array([w]), size, limit, required)
        if fits[0]:
            left = Demand(w, int(size[0]), whole.limit_ms, rest, int(units[0]), whole.memory_mib)
            return [one] * replicas, left
    return [], None


def _reason(resolved: ResolvedProblem, mps: MpsType, one: Demand) -> str:
    if one.memory_mib > mps.memory_mib:
        return f"needs {one.memory_mib:g} MiB of memory; a {mps.gpu} has {mps.memory_mib:g} MiB"
    own = np.full((max(len(mps.batches[one.workload]), 1), 1), one.workload)
    batches = mps.batches[one.workload] if len(mps.batches[one.workload]) else np.ones(1, dtype=np.int64)
    alone = mps.model.predict(own, batches[:, None], np.full(own.shape, mps.capacity_units * mps.unit_percent))
    fastest = float(alone.latency_ms.min())
    fraction = resolved.problem.settings.slo_fraction
    return (
        f"no batch size is fast enough alone on a {mps.gpu}: {one.limit_ms:g} ms are left for execution, the fastest "
        f"takes {fastest:.4g} ms; an SLO of {ceil(fastest / fraction * 10) / 10:g} ms would do"
    )
