"""
Processes that take single requests from one queue: the exact distribution of latencies for Poisson arrivals (M/D/p).

p processes execute a request in one time T each, in the order of arrival; rate is load * p / T. A request that is being
executed is done T later, and none that has not begun by now is: so the number n of requests there, looked at in steps
of T, is a Markov chain, max(n - p, 0) + Poisson(rate T) after n (Crommelin, P.O.E.E.J. 25, 1932). L = max(n - p, 0)
wait.

A request that arrives at t waits for at most x, (m - 1) T <= x < m T, exactly if fewer than m p requests are before it
that had not begun at t' = t + x - m T:

    P(waiting <= x) = P(L + Poisson(rate (m T - x)) < m p)      (Franx, Oper. Res. Lett. 29, 2001, equation 1)

- If there are m p or more, no process is free for it: a process begins at most m of them after t' and up to
  t + x = t' + m T, as it begins at most one in T, and one would have to begin one more.
- If it has not begun by t + x, every process was busy at each of t' + T, t' + 2 T, ..., t' + m T, as none of these is
  before t, and each began one request in the T before each of these. So there are m p before it that began after t'.

Those that wait at t' are independent of those that arrive between t' and t, and are as at any time.

The quantiles rise with the load: with all times between arrivals shorter by one factor, no request begins sooner after
it has come (by induction over Kiefer and Wolfowitz's recursion). So a load that holds holds at every lower one.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import poisson

from ..interference.prediction import Floats

ROUNDING = 1e-9
"""Of the probabilities."""

STEPS = 1000
"""Parts of T to which a quantile is rounded up."""


def single_request_quantiles(processes: int, load: float, quantiles: Sequence[float]) -> Floats:
    """
    Returns quantiles of the latency in units of T, rounded up to a thousandth of it; shape (quantile,).

    Raises
    ------
    ValueError
        If there is no steady state (load).
    """
    present = requests_present(processes, load)
    waiting = np.concatenate(([present[: processes + 1].sum()], present[processes + 1 :]))
    at_most = np.cumsum(waiting)  # P(L <= j)
    rate, periods = load * processes, waiting.size // processes + 2
    before = np.arange(STEPS, 0, -1) / STEPS  # m T - x, for x = (m - 1) T, ... up to m T
    in_time = np.empty((periods, STEPS))
    arrived = np.asarray(poisson.pmf(np.arange(periods * processes)[None, :], rate * before[:, None]))
    for m in range(1, periods + 1):
        most = m * processes
        known = at_most[np.minimum(np.arange(most - 1, -1, -1), at_most.size - 1)]
        in_time[m - 1] = arrived[:, :most] @ known
    first = np.searchsorted(np.maximum.accumulate(in_time.ravel()), np.asarray(quantiles) + ROUNDING)
    return np.asarray(1 + first / STEPS)


def requests_present(processes: int, load: float) -> Floats:
    """Returns how probable it is that 0, 1, ... requests wait or are executed; as `single_request_quantiles` raises."""
    if not 0 < load < 1:
        raise ValueError(f"load is {load}; expected one above 0 and below 1, as a full queue grows without end")
    # Far up, a queue is less probable by 2 (1 - load) / load for every request more (heavy traffic).
    states = int(processes + 16 / (1 - load) + 10 * np.sqrt(load * processes)) + 8
    left = np.maximum(np.arange(states) - processes, 0)
    more = np.arange(states)[None, :] - left[:, None]
    to = np.where(more >= 0, poisson.pmf(np.maximum(more, 0), load * processes), 0.0)
    to[:, -1] += np.maximum(1 - to.sum(axis=1), 0.0)  # what is beyond stays at the edge
    balance = to.T - np.eye(states)
    balance[0] = 1.0
    once = np.zeros(states)
    once[0] = 1.0
    return np.asarray(np.maximum(np.linalg.solve(balance, once), 0.0))
