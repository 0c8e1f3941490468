"""
One server that executes batches, and a queue: the exact distribution of latencies for Poisson arrivals.

A free server takes min(waiting, b) requests at once (greedy); a batch of k takes t_k, nondecreasing in k. Times are in
any one unit, rates in requests per that unit. Load is rate * t_b / b. Latency: waiting and the execution of the batch
that a request is in.

The queue where the server falls free is a Markov chain. If n = 0 requests wait, the server waits for one and takes it
alone; else it takes k = min(n, b) and leaves y = n - k; in both cases it next finds y + Poisson(rate t_k).

A request that arrives u after such a service (k, y) began is number m = y + Poisson(rate u) of the queue. Before its
own batch go j = floor(m / b) full ones, so its batch starts after v = t_k - u + j t_b, and of it there are then
min(b, m - j b + 1 + Poisson(rate v)) requests (bulk service: Bailey, J. R. Stat. Soc. B 16, 1954, is the embedded chain
with t_k all equal). Arrivals are uniform over a service, given its length, so

    P(late) = sum_n pi_n ([n = 0][t_1 > s] + rate int_0^t_k P(v + t_size > s) du) / sum_n pi_n ([n = 0] + rate t_k)

The integrand is smooth between the points u at which v + t_c = s for some c and j, and is integrated between them.

A batch sent early is a batch not filled: all t_k = t_b is mostly, but not always, later than the true smaller t_k.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import pdtr
from scipy.stats import poisson

from ..interference.prediction import Floats, Ints

NODES = 12
"""Gauss-Legendre nodes in each piece of an integral."""

BISECTIONS = 14
"""Of a load, to one in ten thousand."""


@dataclass(frozen=True, eq=False)
class BatchQueue:
    """A server in its steady state."""

    rate: float
    """Requests per unit of time."""
    times: Floats
    """Shape (batch,): t_1 to t_b, nondecreasing."""
    waiting: Floats
    """Shape (requests,): probability that so many wait where the server falls free; the last ones are nearly 0."""

    @property
    def batch(self) -> int:
        """The largest batch."""
        return len(self.times)

    @property
    def taken(self) -> Ints:
        """How many a service takes that finds so many waiting, shape (requests,)."""
        return np.clip(np.arange(self.waiting.size), 1, self.batch)

    def left(self, found: Ints) -> Floats:
        """Returns how probable it is that services which find so many waiting leave 0, 1, ... in the queue."""
        behind = np.maximum(found - self.taken[found], 0)
        return np.asarray(np.bincount(behind, weights=self.waiting[found]), dtype=np.float64)


def batch_queue(times: Sequence[float] | Floats, load: float) -> BatchQueue:
    """
    Returns the steady state at a load above 0 and below 1.

    Raises
    ------
    ValueError
        If there is no steady state (load), or the times are not positive and nondecreasing.
    """
    t = np.asarray(times, dtype=np.float64)
    if not 0 < load < 1:
        raise ValueError(f"load is {load}; expected one above 0 and below 1, as a full queue grows without end")
    if not (t.size and t[0] > 0 and (np.diff(t) >= 0).all()):
        raise ValueError(f"times are {t.tolist()}; expected positive times that do not fall with the batch size")
    batch, rate = t.size, load * t.size / float(t[-1])
    # Far up, a queue is less probable by 2 (1 - load) / load for every request more (heavy traffic), whatever b.
    states = int(batch + 16 / (1 - load) + 10 * np.sqrt(load * batch)) + 8
    taken = np.clip(np.arange(states), 1, batch)
    left = np.maximum(np.arange(states) - taken, 0)
    more = np.arange(states)[None, :] - left[:, None]
    arriving = np.asarray(poisson.pmf(np.arange(states), rate * t[:, None]))  # shape (batch, requests)
    to = np.where(more >= 0, arriving[taken[:, None] - 1, np.maximum(more, 0)], 0.0)
    to[:, -1] += np.maximum(1 - to.sum(axis=1), 0.0)  # what is beyond stays at the edge
    balance = to.T - np.eye(states)
    balance[0] = 1.0
    once = np.zeros(states)
    once[0] = 1.0
    return BatchQueue(rate, t, np.maximum(np.linalg.solve(balance, once), 0.0))


def late(queue: BatchQueue, within: float) -> float:
    """Returns the part of the requests whose latency is more than `within`."""
    t, rate = queue.times, queue.rate
    alone, lengths = float(queue.waiting[0]), t[queue.taken - 1]
    in_time = alone * float(t[0] <= within)
    for length in np.unique(t).tolist():
        in_time += rate * _in_time(queue, queue.left(np.flatnonzero(lengths == length)), length, within)
    return max(0.0, 1 - in_time / (alone + rate * float(np.dot(queue.waiting, lengths))))


def greatest_load(
    times: Sequence[float] | Floats, within: float, quantile: float, *, most: float = 0.97, first: float = 1e-4
) -> float:
    """
    Returns the greatest load, up to `most`, at which this part of the requests has a latency of at most `within`.

    0: not at a load of `first` either. The part that is late rises with the load (in every case that was tried,
    tests/performance/queueing), so the bisection ends at the greatest load of which all lower ones hold too.
    """

    def holds(load: float) -> bool:
        return late(batch_queue(times, load), within) <= 1 - quantile

    if not holds(first):
        return 0.0
    if holds(most):
        return most
    low, high = first, most
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _in_time(queue: BatchQueue, left: Floats, length: float, within: float) -> float:
    """
    Returns the time, weighted, in which requests that arrive during a service of a length will be in time.

    `left`: probability of so many that the service leaves in the queue.
    """
    t, batch, rate = queue.times, queue.batch, queue.rate
    last = int((within - t[0]) // t[-1]) + 1  # full batches before one's own, at most
    if last < 0:
        return 0.0
    before = np.arange(last + 1) * t[-1]
    breaks = (np.unique(t)[:, None] - within + length + before).ravel()
    ends = np.unique(np.concatenate(([0.0, length], breaks[(breaks > 0) & (breaks < length)])))
    node, weight = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(ends)[:, None] / 2
    u = (ends[:-1, None] + half + half * node).ravel()
    m = np.arange((last + 1) * batch)
    probability = number_in_queue(left, rate * u, m)
    starts = length - u[:, None] + (m // batch) * t[-1]
    return float(
        np.dot((half * weight).ravel(), (probability * _on_time(queue, m % batch, starts, within)).sum(axis=1))
    )


def number_in_queue(left: Floats, arrived: Floats, m: Ints) -> Floats:
    """Returns the probability of being number m; `arrived`: expected ones before, shape (node,); shape (node, m)."""
    number = np.asarray(poisson.pmf(m[None, :], arrived[:, None]))
    if left.size == 1:
        return np.asarray(left[0] * number)
    most = min(left.size, m.size)
    return np.stack([np.convolve(left[:most], of_node)[: m.size] for of_node in list(number)])


def _on_time(queue: BatchQueue, ahead: Ints, starts: Floats, within: float) -> Floats:
    """
    Returns the probability that a request is in time, shape (node, m).

    `ahead`: requests of its batch before it, shape (m,); `starts`: when the batch starts, shape (node, m).
    """
    allowed = np.searchsorted(queue.times, within - starts, side="right")  # the largest batch that is quick enough
    more = allowed - ahead - 1  # those that may join it
    by_then = pdtr(np.maximum(more, 0), queue.rate * np.maximum(starts, 0.0))
    return np.where(allowed >= queue.batch, 1.0, np.where(more >= 0, by_then, 0.0))
