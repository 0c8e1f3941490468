"""
Partitions for given workloads and GPUs cut for them, at given slice prices, in a moment and without a solver.

At good prices several covers of a workload cost nearly the same, and the cheapest of all workloads together may be of
sizes that no GPU can be cut into without waste. So workloads are covered in turns. After each turn GPUs are cut
for what is wanted so far, and sizes of which some are left over are a little cheaper in the next turn, others dearer.

Cuts are made greedily: the one whose partitions that are still wanted are worth most, for what its GPU costs with the
rent, as often as all of it is wanted; then the next.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..covers.covers import cheapest_covers
from ..covers.demands import Demands
from ..dual.supply import Supply, least_rent

TURNS = 20

NUDGES = (0.03, 0.01, 0.1)
"""Parts by which sizes get cheaper or dearer between turns; those that are tried, one after the other."""


@dataclass(frozen=True, eq=False)
class CutsAtHand:
    """Partitions of each workload, shape (workload, size), and how many GPUs are cut in each way, shape (cut,)."""

    partitions: Ints
    times: Ints


def cuts_at_hand(demands: Demands, supply: Supply, price: Floats, *, deadline: float) -> Iterator[CutsAtHand]:
    """
    Yields cuts that were found at once, and then, if they are cheaper, the best of a few tries; none: too few GPUs.

    Parameters
    ----------
    demands
        Every workload must have a cover by partitions.
    price
        Shape (size,), USD per hour, above 0.
    deadline
        As time.monotonic() has it. If nothing was found at once, one more try is made at any time.
    """
    first = _covered_in_turns(demands, supply, price, _turns(demands, supply, 1), 0.0)
    if first is not None:
        yield first
    best, turns = first, _turns(demands, supply, TURNS)
    for nudge in NUDGES:
        if best is not None and time.monotonic() > deadline:
            break
        found = _covered_in_turns(demands, supply, price, turns, nudge)
        if found is not None and (best is None or found.times @ supply.cost < best.times @ supply.cost):
            best = found
    if best is not None and best is not first:
        yield best


def _turns(demands: Demands, supply: Supply, number: int) -> list[Ints]:
    """Returns who is covered when: first who cannot do without a type that there is a count of, then the others."""
    limited = np.asarray(supply.instances[np.isfinite(supply.available[supply.gpu_type])].any(axis=0))
    can_wait = _without(demands, limited).can_be_covered()
    first, others = np.flatnonzero(~can_wait), np.flatnonzero(can_wait)
    return [rows for rows in (first, *(others[turn::number] for turn in range(number))) if rows.size]


def _without(demands: Demands, sizes: np.ndarray) -> Demands:
    """Returns what has to be covered where some sizes serve nobody, which are told of each size."""
    return replace(demands, part=np.where(sizes, 0.0, demands.part), kind=None)


def _covered_in_turns(
    demands: Demands, supply: Supply, price: Floats, turns: Sequence[Ints], nudge: float
) -> CutsAtHand | None:
    """Returns covers and cuts, sizes of which no more can be cut left out; None: some workload has no other cover."""
    partitions = np.zeros(demands.part.shape, dtype=np.int64)
    gone, nudged = np.zeros(len(price), dtype=bool), price
    times = np.zeros(len(supply.cost), dtype=np.int64)
    for rows in turns:
        while True:
            left = _without(demands.of(rows), gone)
            if not left.can_be_covered().all():
                return None
            covers = cheapest_covers(left, nudged)
            partitions[rows] = covers.counts[covers.first()]
            wanted = partitions.sum(axis=0)
            times, beyond = greedy_cuts(supply, wanted, price)
            if not beyond.any():
                break
            gone |= beyond > 0
        nudged = price * np.where(times @ supply.instances > wanted, 1 - nudge, 1 + nudge)
    return CutsAtHand(partitions, times)


def greedy_cuts(supply: Supply, wanted: Ints, price: Floats) -> tuple[Ints, Ints]:
    """
    Returns how many GPUs are cut in each way, shape (cut,), and what is wanted beyond all that there are.

    `wanted` and the latter have the shape (size,): partitions of each size.
    """
    cost = supply.cost + least_rent(supply, price)[supply.gpu_type]
    left, gpus = wanted.copy(), supply.available.copy()
    times = np.zeros(len(cost), dtype=np.int64)
    while left.any():
        worth = np.minimum(supply.instances, left) @ price / cost
        worth[gpus[supply.gpu_type] < 1] = 0.0
        best = int(np.argmax(worth))
        if worth[best] <= 0:
            break
        used = np.flatnonzero((supply.instances[best] > 0) & (left > 0))
        of_type = supply.gpu_type[best]
        number = int(min(max((left[used] // supply.instances[best, used]).min(), 1), gpus[of_type]))
        times[best] += number
        gpus[of_type] -= number
        left = np.maximum(left - number * supply.instances[best], 0)
    return times, left
