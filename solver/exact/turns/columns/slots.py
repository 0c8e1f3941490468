"""
Partitions that services may take turns on, what each achieves there, and what stands on one.

On a partition stands either one service alone, at the best operating point of the latency rule, or a round: services
that take turns, each in one process with one batch. A round is as long as its turns take: a longer one of the same
batches lowers every capacity and lengthens every wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats, Ints

TOLERANCE = 1e-9
"""Part of an SLO, or of memory, by which rounding may exceed it."""


@dataclass(frozen=True, eq=False)
class Slots:
    """The partitions of one size of one GPU type."""

    gpu: str
    name: str
    """MIG profile, or WHOLE_GPU."""
    alone_rps: Floats
    """Shape (service,): what each carries alone; 0: it cannot be served here."""
    batch: Ints
    """Shape (service, option)."""
    latency_ms: Floats
    """Shape (service, option): of a batch in one process; inf: there is no such option."""
    memory_mib: Floats
    """Shape (service, option): of that process; 0: not known, which counts as none."""
    capacity_mib: float
    """Memory of the partition."""


@dataclass(frozen=True)
class Content:
    """What stands on a partition."""

    slot: int
    """Index of its Slots."""
    services: tuple[int, ...]
    carried_rps: tuple[float, ...]
    options: tuple[int, ...] | None = None
    """Indices of the batches; None: one service, alone."""
    round_ms: float | None = None
    """None: one service, alone."""


def slots_of(
    gpu: str,
    name: str,
    points: Sequence[tuple[Ints, Floats, Floats]],
    *,
    alone_rps: Floats,
    rate_rps: Floats,
    slo_ms: Floats,
    capacity_mib: float,
) -> Slots:
    """
    Returns the partitions of one size with the batches that a round may need.

    A batch is left out if another one takes no longer and either is no smaller or carries all of the service in any
    round that is in time: that one can stand in its place. So is one that no round has, 2 l > S.

    Parameters
    ----------
    points
        Of each service batches, their latencies in ms and the memory of a process in MiB (nan: not known).
    """
    kept = []
    for w, (batch, latency_ms, memory_mib) in enumerate(points):
        carries = np.minimum(batch, int(np.ceil(slo_ms[w] * rate_rps[w] / 1000.0)))
        order = np.lexsort((np.nan_to_num(memory_mib), -carries, latency_ms))
        rises = carries[order] > np.maximum.accumulate(np.concatenate([[0], carries[order]]))[:-1]
        in_time = 2 * latency_ms[order] <= slo_ms[w] * (1 + TOLERANCE)
        own = order[rises & in_time]
        kept.append((batch[own], latency_ms[own], np.nan_to_num(memory_mib[own])))
    shape = len(kept), max((len(own) for own, _, _ in kept), default=0)
    batch = np.ones(shape, dtype=np.int64)
    latency_ms, memory_mib = np.full(shape, np.inf), np.zeros(shape)
    for w, (own_batch, own_ms, own_mib) in enumerate(kept):
        at = slice(0, len(own_batch))
        batch[w, at], latency_ms[w, at], memory_mib[w, at] = own_batch, own_ms, own_mib
    return Slots(gpu, name, alone_rps, batch, latency_ms, memory_mib, capacity_mib)


def alone(slots: Sequence[Slots]) -> list[Content]:
    """Returns every service alone on every partition that can serve it."""
    return [
        Content(k, (int(w),), (float(one.alone_rps[w]),))
        for k, one in enumerate(slots)
        for w in np.flatnonzero(one.alone_rps > 0)
    ]


def round_of(slots: Sequence[Slots], slot: int, services: Sequence[int], options: Sequence[int]) -> Content:
    """Returns a round, as long as its turns take."""
    one = slots[slot]
    round_ms = float(sum(one.latency_ms[w, j] for w, j in zip(services, options, strict=True)))
    carried = tuple(1000.0 * int(one.batch[w, j]) / round_ms for w, j in zip(services, options, strict=True))
    return Content(slot, tuple(services), carried, tuple(options), round_ms)


def is_legal(content: Content, slots: Sequence[Slots], slo_ms: Floats, *, slots_kept: bool) -> bool:
    """
    Tells whether every request of a round is in time, and all models are in memory together.

    `slo_ms`: shape (service,), what waiting and execution may take together. `slots_kept`: whether each turn has its
    own place in the round (fixed), or the turns come in any order.
    """
    if content.options is None or content.round_ms is None:
        return True
    one, round_ms = slots[content.slot], content.round_ms
    turns = list(zip(content.services, content.options, strict=True))
    takes = [round_ms + (float(one.latency_ms[w, j]) if slots_kept else round_ms) for w, j in turns]
    needed = sum(float(one.memory_mib[w, j]) for w, j in turns)
    in_time = all(ms <= slo_ms[w] * (1 + TOLERANCE) for ms, w in zip(takes, content.services, strict=True))
    return in_time and needed <= one.capacity_mib * (1 + TOLERANCE)
