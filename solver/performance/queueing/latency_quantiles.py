"""
Quantiles of the latency at a server whose batches take one time T, whatever their size (batch_queue.py), in units of T.

With t_k = T a request that arrives u after a service began is in time, for s = (i + f) T, iff fewer than J full batches
go before its own: J = i - 1 where u < (1 - f) T, else i. So with G_J(u) = P(y + Poisson(rate u) < b J)

    P(in time) = (pi_0 [s >= T] + rate (int_0^{(1-f)T} G_{i-1} + int_{(1-f)T}^T G_i)) / (pi_0 + rate T)

and one interpolation of each G_J, which is smooth, gives the whole distribution.
"""

from collections.abc import Sequence

import numpy as np
from numpy.polynomial.chebyshev import Chebyshev

from ..interference.prediction import Floats
from .batch_queue import batch_queue, number_in_queue

DEGREE = 40
"""Of the interpolating polynomials."""

ROUNDING = 1e-9
"""Of the probabilities."""

STEPS = 1000
"""Parts of T to which a quantile is rounded up."""


def latency_quantiles(batch: int, load: float, quantiles: Sequence[float]) -> Floats:
    """Returns the quantiles of the latency in units of T, rounded up to a thousandth of it; shape (quantile,)."""
    queue = batch_queue(np.ones(batch), load)
    alone, states = float(queue.waiting[0]), queue.waiting.size
    left = queue.left(np.arange(states))
    most = states // batch + 2
    node = (np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1)) + 1) / 2
    fewer = np.cumsum(number_in_queue(left, queue.rate * node, np.arange(most * batch)), axis=1)[:, batch - 1 :: batch]
    at = np.arange(STEPS + 1) / STEPS
    integral = np.zeros((most + 1, STEPS + 1))  # of G_J from 0 on
    for full in range(1, most + 1):
        whole = Chebyshev.fit(node, fewer[:, full - 1], DEGREE, domain=[0, 1]).integ(lbnd=0)
        integral[full] = whole(at)
    to_the_break, from_it = integral[:-1, ::-1], integral[1:, -1:] - integral[1:, ::-1]
    in_time = (alone + queue.rate * (to_the_break + from_it)[:, :-1].ravel()) / (alone + queue.rate)
    # From T on, in steps; the first at which the quantile is reached by more than the integrals are rounded by.
    first = np.searchsorted(np.maximum.accumulate(in_time), np.asarray(quantiles) + ROUNDING)
    return np.asarray(1 + first / STEPS)
