"""
From a mixture of covers to a cover for each workload, by systematic sampling.

A group of m workloads with the same covers gives cover i of the mixture, with parts lambda_i that add up to 1, to

    floor(m L_i + u) - floor(m L_{i-1} + u)         of them,  L_i = lambda_1 + ... + lambda_i,  0 <= u < 1

which adds up to m and is off from m lambda_i by less than 1. With u = frac(turn + phi g) for group g the errors of the
groups are spread evenly instead of adding up.
"""

import numpy as np

from ...performance.interference.prediction import Ints
from ..covers.cover_groups import CoverGroups
from .mixed_demand import MixedDemand

GOLDEN = 0.6180339887498949


def evenly_rounded(covers: CoverGroups, mixed: MixedDemand, turn: float) -> Ints:
    """
    Returns how many workloads take each cover, shape (cover,).

    Parameters
    ----------
    turn
        From 0 to 1: where the sampling starts; another one gives another rounding.
    """
    members = covers.members.astype(np.float64)
    start = (turn + GOLDEN * np.arange(len(members))) % 1.0
    running = np.cumsum(mixed.part)
    running[-1] = 1.0
    times = np.zeros(len(covers.counts), dtype=np.int64)
    before = np.zeros(len(members))
    for taken, part in zip(mixed.taken, running.tolist(), strict=True):
        # A start just below 1 is lost in the sum: m + u must not round up to m + 1.
        until = np.minimum(np.floor(members * part + start), members)
        np.add.at(times, taken, (until - before).astype(np.int64))
        before = until
    return times
