"""
The batch of one model on given units (InSS, Algorithm 1, BDA): by halving, in three forms, and by looking at all.

Each takes what holds of batch b at index b - 1: whether a task is in time and the batch fits in memory (`is_possible`),
and the requests/s that it carries. Halving supposes that batches are possible up to some size and carry the rate from
some size on. Neither is so: a batch of more tasks waits less where several wait already, and where it stops at a batch
that is too slow it never looks at greater ones, which are faster.

    printed      sets the flag where a batch is not possible, and not where one is found
    coded        wants more than the rate, and stops at a batch that is not possible if it is too slow as well
    normalised   the flag is that a batch was found
    scan         of all batches that are possible and carry the rate the one that carries most

The C++ twin of the coded form sets both ends to the middle, and does not end.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..performance.interference.prediction import Floats

Bools = NDArray[np.bool_]

DEFAULT_BATCH = 4
"""Of a model for which none is found."""


@dataclass(frozen=True)
class Decided:
    """What an algorithm says of a model."""

    batch: int | None
    """None: none was found."""
    flag: bool
    """That the constraints can be kept, by what the algorithm says."""


def printed(is_possible: Bools, capacity_rps: Floats, rate_rps: float) -> Decided:
    """Returns what Algorithm 1 says as it is printed."""
    batch, met_limit = None, False
    low, high = 1, len(is_possible)
    while low <= high:
        middle = (low + high) // 2
        if not is_possible[middle - 1]:
            high, met_limit = middle - 1, True
        elif capacity_rps[middle - 1] >= rate_rps:
            batch, low = middle, middle + 1
        else:
            break
    return Decided(batch, met_limit)


def coded(is_possible: Bools, capacity_rps: Floats, rate_rps: float) -> Decided:
    """Returns what the published environment does."""
    batch = None
    low, high = 1, len(is_possible)
    while low <= high:
        middle = (low + high) // 2
        capacity = capacity_rps[middle - 1]
        if not is_possible[middle - 1]:
            if capacity < rate_rps:
                break
            high = middle - 1
        elif capacity > rate_rps:
            batch, low = middle, middle + 1
        else:
            break
    return Decided(batch, batch is not None)


def normalised(is_possible: Bools, capacity_rps: Floats, rate_rps: float) -> Decided:
    """Returns what Algorithm 1 does, with the flag that its text describes."""
    batch = printed(is_possible, capacity_rps, rate_rps).batch
    return Decided(batch, batch is not None)


def scan(is_possible: Bools, capacity_rps: Floats, rate_rps: float) -> Decided:
    """Returns the batch that carries most of those that are possible and carry the rate; of equal ones the least."""
    capacity = np.where(is_possible & (capacity_rps >= rate_rps), capacity_rps, -1.0)
    best = int(capacity.argmax())
    return Decided(best + 1, True) if capacity[best] >= 0 else Decided(None, False)


FORMS = {"printed": printed, "coded": coded, "normalised": normalised, "scan": scan}
