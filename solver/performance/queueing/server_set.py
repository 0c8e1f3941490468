"""
The greatest load of a set of servers whose requests go to the least expected completion, or wait in one queue.

Servers i execute batches of at most b_i in a time T_i each on p_i processes, greedily; C = sum b_i p_i / T_i and
load = rate / C. With a service's SLO, the same for all of them, and every T_i <= SLO/2,

    M = sum b_i p_i (SLO / T_i - 1)                                    requests that they complete within the slack
    D = max(0.7 (b_max - 1), sum p_i max(0, 0.93 b_i - 4.2))           lost to forming batches
    theta = ln(1 / (1 - q)) / (M - D);   load = min(0.97, theta / (e^theta - 1) - 0.025);   0 where M <= D

The form is that of shared_queue.py, and as there a measured rule, not a theorem: the constants of D are fitted. Over
598 fresh sets of 2 to 8 unequal servers of published tables, and the 547 that it was fitted to, the same with 0.013 in
place of 0.025 was at most 0.010 above the simulated truth at q = 0.99, in 5 of the fresh ones, and 0.018 below it on
average; so with 0.025 it was above none. No lower load was ever worse. At q = 0.999, never fitted, it was at most 0.013
above the truth in 67 sets, but 0.035 above it for two processes with batches of three or four and an SLO of 2 T, so
from 0.99 to there 0.055 are subtracted. A lower q than 0.95 counts as that. Beyond 0.999, or with a slower server (up
to 0.31 above the truth), nothing was measured that is safe, and the answer is 0.

Processes with a queue each are servers of one process; M and D are the same.
"""

import numpy as np

from ..interference.prediction import Floats, Ints
from .shared_queue import FITTED, GREATEST_MEASURED, LEAST_SLACK, MOST, TOLERANCE, load_of_backlog

MARGIN, MARGIN_UNFITTED = 0.025, 0.055


def set_loads(service: Ints, batch: Ints, processes: Ints, slack: Floats, quantile: Floats) -> Floats:
    """
    Returns the greatest load of each service's servers together; it holds at every lower one too. 0: at none.

    Parameters
    ----------
    service
        Shape (server,): whose it is, an index into `quantile`.
    slack
        Shape (server,): SLO over T.
    quantile
        Shape (service,); so is the answer.
    """
    number = quantile.size
    completed = np.bincount(service, batch * processes * (slack - 1), number)
    lost = np.bincount(service, processes * np.maximum(0.93 * batch - 4.2, 0.0), number)
    largest = np.zeros(number)
    np.maximum.at(largest, service, batch)
    slow = np.bincount(service, slack * (1 + TOLERANCE) < LEAST_SLACK, number) > 0
    left = np.where(slow, 0.0, completed - np.maximum(0.7 * (largest - 1), lost))
    margin = np.where(quantile > FITTED + TOLERANCE, MARGIN_UNFITTED, MARGIN)
    load = np.clip(load_of_backlog(left, quantile) - margin, 0.0, MOST)
    return np.where((left > 0) & (quantile <= GREATEST_MEASURED + TOLERANCE), load, 0.0)


def alone_loads(
    batch: Ints, processes: Ints, slack: Floats, quantile: Floats, full_rps: Floats, rate_rps: Floats
) -> Floats:
    """
    Returns the load of as many servers of one kind as it takes for a rate, at least one; arrays of one shape.

    n = R / (load C) servers, n no whole number, have the load f(n): the one crossing of a line that rises and a curve
    that falls with the load. It compares kinds of servers, and promises nothing.
    """
    low, high = np.zeros(slack.shape), np.full(slack.shape, MOST)
    for _ in range(HALVINGS):
        load = (low + high) / 2
        copies = np.maximum(rate_rps / (load * full_rps), 1.0)
        lost = np.maximum(0.7 * (batch - 1), copies * processes * np.maximum(0.93 * batch - 4.2, 0.0))
        left = copies * batch * processes * (slack - 1) - lost
        holds = load_of_backlog(left, quantile) - MARGIN >= load
        low, high = np.where(holds, load, low), np.where(holds, high, load)
    known = (slack * (1 + TOLERANCE) >= LEAST_SLACK) & (quantile <= GREATEST_MEASURED + TOLERANCE)
    return np.where(known, low, 0.0)


HALVINGS = 24
"""Of an interval of loads."""
