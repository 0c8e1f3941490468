"""
The least core-time of one query within its latency limit, exactly: which cores for which layer.

    min  sum_l c_l ms_l(c_l) + sum over changes of c_l delta
    s.t. sum_l ms_l(c_l) + delta (changes) <= SLO,    c_l <= peak,    changes < blocks

A change is a layer that has other cores than the one before it; it stands still for delta on its new cores. Layers
between two changes are a block.

The dynamic program goes from the last layer to the first. With times in whole microseconds its state (layer, count,
microseconds left, blocks left) is exact: `ahead[b, c, t]` is the least core-time of the layers from l on if l runs on
the count c, t is left and b blocks may still be begun, this one among them.

    ahead_l[b, c, t] = c us_l(c) + then_l[b, c, t - us_l(c)]
    then_l[b, c, t]  = min(ahead_{l+1}[b, c, t], min_c' c' delta + ahead_{l+1}[b - 1, c', t - delta])

Every sequence of counts is one path through these states with its own cost, and the program keeps the least of each
state; so the answer is optimal, and None proves that there is none.
"""

from dataclasses import dataclass

import numpy as np

from ..model.errors import Finding, InputError
from .chain import Chain, Ints, in_us

NEVER = np.int64(2**60)

MOST_STATES = 400_000_000
"""A byte each is kept for the way back."""


@dataclass(frozen=True)
class CoreTime:
    """A query's way through its layers on its own."""

    core_ms: float
    ms: float
    cores: tuple[int, ...]
    """Of each layer."""

    @property
    def peak(self) -> int:
        """Most cores of any layer."""
        return max(self.cores)

    @property
    def blocks(self) -> int:
        """Runs of layers on equal cores."""
        return 1 + sum(one != other for one, other in zip(self.cores, self.cores[1:], strict=False))


def least_core_time(
    chain: Chain,
    slo_ms: float,
    *,
    most_cores: int | None = None,
    change_ms: float = 0.0,
    most_blocks: int | None = None,
) -> CoreTime | None:
    """
    Returns the way through the layers that takes the least core-time within a limit; None: there is none, proven.

    Parameters
    ----------
    most_cores
        Peak; None: all that were measured.
    change_ms
        How long a query stands still, on its new cores, when their number changes.
    most_blocks
        None: any number.

    Raises
    ------
    InputError
        If there are more states than are kept.
    """
    allowed = chain.cores <= (chain.cores[-1] if most_cores is None else most_cores)
    counts, us = chain.cores[allowed], chain.us[:, allowed]
    if not counts.size:
        return None
    limit, delta = in_us(slo_ms), round(change_ms * 1000)
    layers = len(us)
    blocks = 1 if most_blocks is None else min(most_blocks, layers)
    states = layers * blocks * len(counts) * (limit + 1)
    if states > MOST_STATES:
        message = f"is {slo_ms:g} ms, with {layers} layers {states:,} states; expected at most {MOST_STATES:,}"
        raise InputError([Finding("--slo-ms", "", message)])
    ahead = np.zeros((blocks, len(counts), limit + 1), dtype=np.int64)
    changes = []  # of each layer but the last: the count after it, or -1: the same one, no new block
    for layer in range(layers - 1, -1, -1):
        then = ahead
        if layer < layers - 1:
            then, change = _with_changes(ahead, counts, delta, is_limited=most_blocks is not None)
            changes.append(change)
        ahead = np.full_like(then, NEVER)
        for c, (cores, takes) in enumerate(zip(counts.tolist(), us[layer].tolist(), strict=True)):
            if takes <= limit:
                ahead[:, c, takes:] = then[:, c, : limit + 1 - takes] + cores * takes
    first = int(ahead[-1, :, limit].argmin())
    core_us = int(ahead[-1, first, limit])
    if core_us >= NEVER:
        return None
    way = _way(us, changes[::-1], first, limit, delta, is_limited=most_blocks is not None)
    spent = int(us[np.arange(layers), way].sum()) + delta * int((np.diff(way) != 0).sum())
    return CoreTime(core_us / 1000, spent / 1000, tuple(counts[way].tolist()))


def _with_changes(ahead: Ints, counts: Ints, delta: int, *, is_limited: bool) -> tuple[Ints, np.ndarray]:
    """Returns `then_l`, and the count of the next layer, -1: the same as before."""
    begun = ahead + (counts * delta)[None, :, None]
    to = begun.argmin(axis=1)
    cost = begun.min(axis=1)
    moved = np.full_like(cost, NEVER)
    target = np.zeros_like(to)
    if delta <= cost.shape[1] - 1:
        end = cost.shape[1] - delta
        if not is_limited:
            moved[:, delta:], target[:, delta:] = cost[:, :end], to[:, :end]
        else:  # a block less is left behind the change
            moved[1:, delta:], target[1:, delta:] = cost[:-1, :end], to[:-1, :end]
    better = moved[:, None, :] < ahead
    return np.where(better, moved[:, None, :], ahead), np.where(better, target[:, None, :], -1).astype(np.int8)


def _way(us: Ints, changes: list[np.ndarray], first: int, limit: int, delta: int, *, is_limited: bool) -> Ints:
    """Returns the count of each layer, from the choices that were kept."""
    count, left, block = first, limit, (changes[0].shape[0] - 1 if changes else 0)
    way = [count]
    for layer, change in enumerate(changes):
        left -= int(us[layer, count])
        to = int(change[block, count, left])
        if to >= 0:
            count, left, block = to, left - delta, block - is_limited
        way.append(count)
    return np.array(way)
