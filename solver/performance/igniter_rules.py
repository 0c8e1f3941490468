"""
iGniter's rules: one batch size for each workload, one GPU for each unless one is not enough (IEEE TPDS 2023).

The batch size is the one that carries the rate if a batch takes all of its time limit (eq. 17):

    b = ceil(S R B / (B + R d_load)),     S: the part of the SLO that execution may take

Mended: it is kept within the batch sizes that the workload may use; where that makes it smaller, the share must
make up for the rate, which the paper's eq. 18 does not ask for.

A workload for which a whole GPU is not enough gets dedicated GPUs, as in the artifact: each with the largest batch
that is fast enough at 100 %, and counted with 0.9 of its throughput there; the rest of the rate is served as usual, by
the fewest dedicated GPUs beside which it fits one. Mended: the artifact writes the batch size of another workload for
them; and where no batch is fast enough at 100 %, the share counts at which it is fastest, for with a steep power slope
all of a GPU is not (performance/alone.py).

The batch size of eq. 17 is the greatest that the time limit asks for, not the one that needs least of a GPU. A rule of
ours, `least_share_batches`, takes that one instead, of equal whole units the one with the least share before it is
rounded up, which has most to spare beside neighbours; everything else stays as it is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from ..model.plan import Unserved
from .alone import EveryShare, at_every_share
from .interference.prediction import Floats, Ints
from .latency_rules.execution import in_tenths, least_slo_ms, within
from .mps_sharing import MpsType
from .resolve import ResolvedProblem

DEDICATED_PART = 0.9
"""Part of a dedicated GPU's throughput that is counted on (artifact)."""

TRIED_TOGETHER = 1 << 12
"""Numbers of dedicated GPUs of which the rest is looked at together."""


TRIED_BATCHES = 1 << 17
"""Batch sizes, of all workloads together, whose least shares are looked for at once."""

BatchRule = Callable[[MpsType, Ints, Floats, Floats], Ints]
"""Gives each of some workloads a batch size by its latency limit in ms and its rate; all of shape (workload,)."""


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
class IgniterDemands:
    """What iGniter's rules place on GPUs of one type."""

    shared: tuple[Demand, ...]
    """In the order of the workloads."""
    dedicated: tuple[Demand, ...]
    """Each takes a GPU for itself."""


def appropriate_batches(mps: MpsType, workload: Ints, limit_ms: Floats, required_rps: Floats) -> Ints:
    """Returns the batch size of eq. 17, shape (workload,): the next allowed one, or else the greatest."""
    rate = required_rps / 1000
    wanted = np.ceil(limit_ms * rate / (1 + rate * mps.model.load_ms[workload]) - 1e-9).astype(np.int64)
    chosen = []
    for w, size in zip(workload.tolist(), wanted.tolist(), strict=True):
        allowed = mps.batches[w]
        chosen.append(int(allowed[min(np.searchsorted(allowed, size), len(allowed) - 1)]) if len(allowed) else 1)
    return np.array(chosen, dtype=np.int64)


def least_share_batches(mps: MpsType, workload: Ints, limit_ms: Floats, required_rps: Floats) -> Ints:
    """Returns the batch size with the least share alone, shape (workload,); that of eq. 17 where a GPU is too small."""
    chosen = appropriate_batches(mps, workload, limit_ms, required_rps)
    sizes = np.array([len(mps.batches[w]) for w in workload.tolist()], dtype=np.int64)
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(workload):
        before = int(ends[begin] - sizes[begin])
        end = max(int(np.searchsorted(ends, before + TRIED_BATCHES, side="right")), begin + 1)
        some = np.arange(begin, end)
        chosen[some] = _of_least_share(mps, workload[some], limit_ms[some], required_rps[some], chosen[some])
        begin = end
    return chosen


def _of_least_share(mps: MpsType, workload: Ints, limit_ms: Floats, required_rps: Floats, otherwise: Ints) -> Ints:
    """As `least_share_batches`, for workloads whose batch sizes are looked at together; `otherwise`: if none fits."""
    row = np.repeat(np.arange(len(workload)), [len(mps.batches[w]) for w in workload.tolist()])
    if not row.size:
        return otherwise
    own = workload[row]
    batch = np.concatenate([mps.batches[w] for w in workload.tolist()])
    with np.errstate(over="ignore", invalid="ignore"):  # with absurd coefficients some batches ask beyond all numbers
        units, fits = alone_units(mps, own, batch, limit_ms[row], required_rps[row])
        row, own, batch, units = row[fits], own[fits], batch[fits], units[fits]
        shape = (mps.percent(units)[:, None], limit_ms[row, None], required_rps[row, None])
        needed = mps.model.least_percent(own[:, None], batch[:, None], *shape)[:, 0]
    known = np.isfinite(needed)
    row, batch, units, needed = row[known], batch[known], units[known], needed[known]
    # The best of each row comes last, so that it is what remains.
    order = np.lexsort((batch, needed, units))[::-1]
    chosen = otherwise.copy()
    chosen[row[order]] = batch[order]
    return chosen


def demands(
    resolved: ResolvedProblem,
    mps: MpsType,
    workloads: Iterable[int] | None = None,
    batches: BatchRule = appropriate_batches,
) -> IgniterDemands | list[Unserved]:
    """
    Returns what is to be placed on GPUs of one type, or the workloads that cannot be.

    Parameters
    ----------
    workloads
        Those to serve; None: all.
    batches
        Which batch size each has, where it does not have a GPU for itself.
    """
    chosen = np.arange(len(resolved.required_rps)) if workloads is None else np.array(sorted(workloads), dtype=np.int64)
    limit = resolved.limit_ms[chosen]
    required = resolved.required_rps[chosen]
    batch = batches(mps, chosen, limit, required)
    units, fits = alone_units(mps, chosen, batch, limit, required)
    shared, dedicated, unserved = [], [], []
    too_large: dict[object, tuple[list[Demand], Demand | None]] = {}  # of workloads that are alike, once
    for i, w in enumerate(chosen.tolist()):
        one = Demand(w, int(batch[i]), float(limit[i]), float(required[i]), int(units[i]), float(mps.demand_mib[w]))
        if fits[i]:
            shared.append(one)
            continue
        alike = (int(mps.kind[w]), bool(mps.usable[w]), mps.model.key(w), replace(one, workload=0))
        if alike not in too_large:
            too_large[alike] = _too_large(mps, one, batches)
        replicas, rest = too_large[alike]
        if rest is None:
            unserved.append(Unserved(workload=resolved.problem.workloads[w].name, reason=_reason(resolved, mps, one)))
            continue
        dedicated += [replace(replica, workload=w) for replica in replicas]
        shared.append(replace(rest, workload=w))
    return unserved or IgniterDemands(tuple(shared), tuple(dedicated))


def alone_units(
    mps: MpsType, workload: Ints, batch: Ints, limit_ms: Floats, required_rps: Floats
) -> tuple[Ints, np.ndarray]:
    """Returns the units that each workload needs alone on a GPU, and whether a GPU is enough; shape (workload,)."""
    units, fits = mps.least_shares(workload[:, None], batch[:, None], limit_ms[:, None], required_rps[:, None])
    return units[:, 0], fits & mps.usable[workload] & (mps.demand_mib[workload] <= mps.memory_mib)


def _too_large(mps: MpsType, whole: Demand, batches: BatchRule) -> tuple[list[Demand], Demand | None]:
    """Returns the dedicated GPUs of a workload and what is left of it; None: no batch is fast enough."""
    one = _dedicated(mps, whole)
    if one is None:
        return [], None
    most = ceil(whole.required_rps / one.required_rps)
    for first in range(1, most + 1, TRIED_TOGETHER):
        replicas = np.arange(first, min(first + TRIED_TOGETHER, most + 1))
        rest = np.maximum(whole.required_rps - replicas * one.required_rps, 1e-3)
        own, limit = np.full(len(rest), whole.workload), np.full(len(rest), whole.limit_ms)
        size = batches(mps, own, limit, rest)
        units, fits = alone_units(mps, own, size, limit, rest)
        for i in np.flatnonzero(fits)[:1].tolist():
            left = replace(whole, batch=int(size[i]), required_rps=float(rest[i]), least_units=int(units[i]))
            return [one] * int(replicas[i]), left
    return [], None


def _dedicated(mps: MpsType, whole: Demand) -> Demand | None:
    """Returns what a GPU of its own carries of a workload that needs several; None: no batch is fast enough."""
    if not mps.usable[whole.workload] or whole.memory_mib > mps.memory_mib:
        return None
    alone = at_every_share(mps, whole.workload)
    if mps.promise is not None:
        return _dedicated_to_a_promise(mps, whole, alone)
    fast = within(alone.latency_ms, whole.limit_ms)
    if fast[:, -1].any():
        at, share = int(np.flatnonzero(fast[:, -1])[-1]), fast.shape[1] - 1
    elif fast.any():
        at = int(np.flatnonzero(fast.any(axis=1))[-1])
        share = int(np.argmin(alone.latency_ms[at]))
    else:
        return None
    counted = DEDICATED_PART * float(alone.throughput_rps[at, share])
    return replace(whole, batch=int(alone.batch[at]), required_rps=counted, least_units=int(alone.units[share]))


def _dedicated_to_a_promise(mps: MpsType, whole: Demand, alone: EveryShare) -> Demand | None:
    """Returns the same where requests that wait are promised something: the point that carries most, all shares."""
    promise = mps.promise
    if promise is None:
        return None
    [(best, carried)] = promise.rule.best_of([(alone.operating_points, promise.asked.of([whole.workload]))])
    if best[0] < 0:
        return None
    at, share = divmod(int(best[0]), alone.latency_ms.shape[1])
    counted = DEDICATED_PART * float(carried[0])
    return replace(whole, batch=int(alone.batch[at]), required_rps=counted, least_units=int(alone.units[share]))


def _reason(resolved: ResolvedProblem, mps: MpsType, one: Demand) -> str:
    if one.memory_mib > mps.memory_mib:
        return f"needs {one.memory_mib:g} MiB of memory; a {mps.gpu} has {mps.memory_mib:g} MiB"
    if not mps.usable[one.workload]:
        return f"no batch size or share is left for it on a {mps.gpu} under MPS"
    fastest = float(at_every_share(mps, one.workload).latency_ms.min())
    if fastest <= one.limit_ms:
        return f"no number of {mps.gpu} carries its rate with iGniter's batch sizes (eq. 17)"
    enough = in_tenths(least_slo_ms(fastest, resolved.rule.part_of_slo))
    return (
        f"its SLO is too short: {one.limit_ms:g} ms of it are left for execution, and alone on a {mps.gpu} the fastest "
        f"batch takes {fastest:.4g} ms; an SLO of {enough:g} ms would do"
    )
