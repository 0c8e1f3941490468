"""
GPUs cut for partitions of which some are kept free, in a moment and without a solver.

The free partitions that more rate asks for are wanted beside those in use, and cuts are made for both greedily. Where
any one GPU may be lost there are to be as many free of each size as any GPU has (mig/spare_capacity.py): as long as
there are fewer, more are wanted and the cuts are made anew.
"""

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..dual.supply import Supply
from .cuts_at_hand import greedy_cuts


def cuts_with_free(
    supply: Supply, wanted: Ints, least_free: Ints, price: Floats, *, gpu_loss: bool
) -> tuple[Ints, Ints] | None:
    """
    Returns how many GPUs are cut in each way, shape (cut,), and the free partitions, shape (size,); None: too few GPUs.

    Parameters
    ----------
    wanted, least_free
        Shape (size,): partitions in use, and those that are to be free at least.
    price
        Shape (size,), USD per hour, above 0.
    gpu_loss
        Whether there is to be room for a lost GPU.
    """
    free = least_free.copy()
    while True:
        times, beyond = greedy_cuts(supply, wanted + free, price)
        if beyond.any():
            return None
        most = supply.instances[times > 0].max(axis=0, initial=0)
        asked = np.maximum(least_free, most) if gpu_loss else least_free
        if (asked <= free).all():  # cuts that are no longer made may have asked for more
            return times, asked
        free = np.maximum(free, asked)
