"""
The greatest load of processes that share a queue, for arrivals that are random or every k-th of random ones.

p processes execute batches of at most b in a time T each, greedily; C = b p / T. With S = SLO / T,

    M = b p (S - 1)                                        requests that they complete within the slack
    D = max((b - 1) (p - (p - 0.7) / k), p (0.93 b - 4.2)) + [b > 1] 0.35 (1 - 1/k)    lost to forming batches
    theta = ln(1 / (1 - q)) / (k (M - D));   load = min(0.97, theta / (e^theta - 1) - 0.013);   0 where M <= D

theta / (e^theta - 1) is the load at which Cramer's bound of a backlog of Poisson arrivals is 1 - q after the slack; the
constants of D are fitted to simulations, so this is a measured rule, not a theorem. Its measured errors for T <= SLO/2,
over 200 random sets of unequal partitions of published tables with the weights that follow from it: never above the
simulated truth, 0.031 of load below it on average; and no lower load was ever worse (0 of 3,183 services at seven loads
each). With a slower partition it is not safe (up to 0.31 above the truth), so there the answer is 0.

It was measured for q of 0.95 and 0.99. A lower q counts as 0.95, which promises more. At q = 0.999, where it was not
fitted, sets of servers were at most 0.013 above the truth: from 0.99 to there 0.026 are subtracted in place of 0.013.
That is enough for one process, and for two or more with k > 1 (at most 0.6 thousandths were late); not for k = 1, where
two processes with batches of three or four were 0.022 above at S = 2: there load_table.py alone is to be asked. Beyond
0.999 nothing was measured, and the answer is 0.
"""

import numpy as np

from ..interference.prediction import Floats, Ints

MOST = 0.97
"""The greatest load."""

MARGIN, MARGIN_UNFITTED = 0.013, 0.026

LEAST_MEASURED, FITTED, GREATEST_MEASURED = 0.95, 0.99, 0.999
"""Quantiles."""

LEAST_SLACK = 2.0
"""SLO over T, below which nothing is promised."""

TOLERANCE = 1e-9

GREATEST_THETA = 700.0
"""Beyond it e^theta is no number, and the load is next to nothing."""


def greatest_shared_loads(
    batch: Ints, processes: Ints, slack: Floats, quantile: Floats, every: Floats | float
) -> Floats:
    """
    Returns the greatest load at which, and below which, a quantile of the latency keeps the SLO; 0: at none.

    Parameters
    ----------
    slack
        SLO over T.
    every
        k: the queue gets at most every k-th of the requests that arrive at random; it may be one number for all. All
        other arguments have one shape.
    """
    completed = batch * processes * (slack - 1)
    forming = np.maximum(
        (batch - 1) * (processes - (processes - 0.7) / every), processes * (0.93 * batch - 4.2)
    ) + np.where(batch > 1, 0.35 * (1 - 1 / every), 0.0)
    left = every * (completed - forming)
    load = np.clip(load_of_backlog(left, quantile) - margins(quantile), 0.0, MOST)
    known = (left > 0) & (slack * (1 + TOLERANCE) >= LEAST_SLACK) & (quantile <= GREATEST_MEASURED + TOLERANCE)
    return np.where(known, load, 0.0)


def load_of_backlog(left: Floats, quantile: Floats) -> Floats:
    """Returns theta / (e^theta - 1), the load at which a backlog of so many requests, `left`, has the chance 1 - q."""
    theta = -np.log1p(-np.maximum(quantile, LEAST_MEASURED)) / np.where(left > 0, left, 1.0)
    return np.asarray(theta / np.expm1(np.minimum(theta, GREATEST_THETA)))


def margins(quantile: Floats) -> Floats:
    """Returns what is subtracted of loads."""
    return np.where(quantile > FITTED + TOLERANCE, MARGIN_UNFITTED, MARGIN)


HALVINGS = 50
"""Of an interval of times."""


def longest_of_every(batch: Ints, slo_ms: Floats, quantile: Floats, every: Floats, rate_rps: Floats) -> Floats:
    """
    Returns the longest time T with which one process of load b / T x `greatest_shared_loads` has a rate; 0: none.

    M rises as T falls, theta falls with it, and theta / (e^theta - 1) rises: so does the load, and the rate with it.
    The bisection ends at a time that allows the rate, and so does every shorter one. All arguments have one shape.
    """
    one = np.ones_like(batch)
    full_rps = 1000.0 * batch

    def allows(time_ms: Floats) -> np.ndarray:
        load = greatest_shared_loads(batch, one, slo_ms / time_ms, quantile, every)
        return np.asarray(load * full_rps >= rate_rps * time_ms)

    with np.errstate(divide="ignore"):
        high = np.minimum(slo_ms / LEAST_SLACK, MOST * full_rps / rate_rps)
    low = np.where(allows(high), high, 0.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        holds = allows(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low
