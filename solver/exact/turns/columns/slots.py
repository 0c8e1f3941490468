"""
Partitions that services may take turns on, what each achieves there, and what stands on one.

On a partition stands either one service alone, at the best operating point of the latency rule, or a round: services
that take turns, each in one process with one batch, or one that has a round for itself, where that carries more. A
round is as long as its turns take: a longer one of the same batches lowers every capacity and lengthens every wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.turns.turn_rule import TOLERANCE, TurnRule


@dataclass(frozen=True, eq=False)
class Slots:
    """The partitions of one size of one GPU type."""

    gpu: str
    name: str
    """MIG profile, or WHOLE_GPU."""
    alone_rps: Floats
    """Shape (service,): what each carries that has it for itself; 0: it cannot be served here."""
    alone_option: Ints
    """Shape (service,): the batch of its round there; -1: none, it stands at the best operating point."""
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
    rule: TurnRule,
    capacity_mib: float,
) -> Slots:
    """
    Returns the partitions of one size with the batches that a round may need.

    A batch is left out if another one takes no longer and either is no smaller or carries all of the service in any
    round that is in time, which of a percentile none is sure to do: that one can stand in its place. So is one that no
    round has, 2 l > S.

    Parameters
    ----------
    points
        Of each service batches, their latencies in ms and the memory of a process in MiB (nan: not known).
    alone_rps
        Shape (service,): what each carries alone at its best operating point.
    """
    kept, slo_ms = [], rule.slo_ms
    for w, (batch, latency_ms, memory_mib) in enumerate(points):
        enough = np.ceil(slo_ms[w] * rate_rps[w] / 1000.0) if rule.quantile is None else np.inf
        carries = np.minimum(batch, enough)
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
    in_rounds = np.where(memory_mib <= capacity_mib * (1 + TOLERANCE), rule.alone_rps(batch, latency_ms), 0.0)
    best = in_rounds.max(axis=1, initial=0.0)
    option = in_rounds.argmax(axis=1) if shape[1] else np.zeros(shape[0], dtype=np.int64)
    option = np.where(best > alone_rps, option, -1)
    return Slots(gpu, name, np.maximum(alone_rps, best), option, batch, latency_ms, memory_mib, capacity_mib)


def alone_on(slots: Sequence[Slots], slot: int, service: int) -> Content:
    """Returns a service that has a partition for itself."""
    one, option = slots[slot], int(slots[slot].alone_option[service])
    carried = (float(one.alone_rps[service]),)
    if option < 0:
        return Content(slot, (service,), carried)
    return Content(slot, (service,), carried, (option,), float(one.latency_ms[service, option]))


def round_of(
    slots: Sequence[Slots], slot: int, services: Sequence[int], options: Sequence[int], rule: TurnRule
) -> Content:
    """Returns a round, as long as its turns take."""
    one, who, what = slots[slot], np.array(services), np.array(options)
    latency_ms = one.latency_ms[who, what]
    round_ms = float(sum(latency_ms.tolist()))
    length = np.full(who.size, round_ms)
    carried = rule.carried_rps(who, one.batch[who, what], latency_ms if rule.slots_kept else length, length)
    return Content(slot, tuple(services), tuple(carried.tolist()), tuple(options), round_ms)
