"""
Given GPUs filled up with what counts most, in a moment and without a solver.

Partitions that nobody has, in GPUs that are cut and in those that are not, each go to the workload without a limit on
replicas that counts most on their size (capacity/most_requests.py). GPUs that are not cut get the cut that is worth
most so.
"""

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..dual.supply import Supply


def filled_up(supply: Supply, value: Floats, partitions: Ints, times: Ints) -> tuple[Ints, Ints]:
    """
    Returns partitions, shape (workload, size), and how many GPUs are cut in each way, shape (cut,); every type counted.

    Parameters
    ----------
    value
        Shape (workload, size): weighted requests/s of one partition more; 0: the workload may have none.
    partitions, times
        What is there: for every partition of these there is one in the cut GPUs.
    """
    worth, who = value.max(axis=0), value.argmax(axis=0)
    times, of_cut = times.copy(), supply.instances @ worth
    for g, available in enumerate(supply.available):
        own = np.flatnonzero(supply.gpu_type == g)
        if own.size:
            times[own[of_cut[own].argmax()]] += int(available - times[own].sum())
    partitions = partitions.copy()
    free = times @ supply.instances - partitions.sum(axis=0)
    partitions[who, np.arange(len(worth))] += np.where(worth > 0, free, 0)
    return partitions, times
