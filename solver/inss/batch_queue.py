"""
One server that takes full batches of b tasks, t each, from Poisson arrivals: what equation 2 says, and what is so.

`mean_ms` is exact. Let X tasks wait when a batch ends. The next one starts when b wait, and while it runs N come,
Poisson with mean lambda t: X' = max(X - b, 0) + N. Its stationary distribution, and tasks times time over a cycle (the
wait for b, in which X, .. b - 1 tasks are there for 1/lambda each on average, and the batch, with max(X, b) in the
system and lambda t / 2 more on average), give the mean by Little's law.

`full_batches` and `dispatched_early` are simulations. Early: a batch leaves when b wait, or when its oldest task has
waited for `after_ms`; SLO - t is the latest that can still be in time.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import gammaln

from ..performance.interference.prediction import Floats
from .task_latency import as_printed


def poisson_arrivals(rate_rps: float, count: int, seed: int) -> Floats:
    """Returns so many moments, ms."""
    gaps: Floats = np.random.default_rng(seed).exponential(1000 / rate_rps, count)
    return np.cumsum(gaps)


def full_batches(arrivals: Floats, batch: int, ms: float) -> Floats:
    """Returns when each full batch starts, shape (batch,): its last task is there and the one before has ended."""
    ready = arrivals[: len(arrivals) // batch * batch].reshape(-1, batch)[:, -1]
    steps = np.arange(len(ready)) * ms
    starts: Floats = np.maximum.accumulate(ready - steps) + steps
    return starts


@dataclass(frozen=True, eq=False)
class Simulated:
    """What tasks took, and what equation 2 said at the arrival of each; shape (task,), ms."""

    taken_ms: Floats
    said_ms: Floats

    @property
    def longer(self) -> float:
        """Share of the tasks that took longer than equation 2 said."""
        return float(np.mean(self.taken_ms > self.said_ms + 1e-9))

    @property
    def error(self) -> float:
        """Mean difference of a task, as part of what it took."""
        return float(np.mean(np.abs(self.taken_ms - self.said_ms) / self.taken_ms))


def simulated(arrivals: Floats, batch: int, ms: float, rate_rps: float) -> Simulated:
    """Returns each task's time in a queue of full batches beside what equation 2 says when it comes."""
    starts = full_batches(arrivals, batch, ms)
    tasks = arrivals[: len(starts) * batch]
    taken = np.repeat(starts + ms, batch) - tasks
    begun = np.searchsorted(starts, tasks, side="left")
    waiting = (np.arange(len(tasks)) - begun * batch).astype(np.float64)
    ends = np.concatenate([[-np.inf], starts + ms])[begun]
    said = as_printed(np.float64(batch) + np.zeros(1), np.array([ms]), rate_rps, waiting, np.maximum(ends - tasks, 0.0))
    return Simulated(taken, said)


def dispatched_early(arrivals: Floats, batch: int, ms: float, after_ms: float) -> Floats:
    """Returns what each task took where a batch leaves full, or once its oldest task waited for `after_ms`; ms."""
    taken = np.empty(len(arrivals))
    moments: list[float] = arrivals.tolist()
    at, free, count = 0, 0.0, len(moments)
    while at < count:
        oldest = moments[at]
        full = moments[at + batch - 1] if at + batch <= count else np.inf
        start = max(free, min(full, oldest + max(after_ms, 0.0)))
        last = at + 1
        while last < count and last < at + batch and moments[last] <= start:
            last += 1
        free = start + ms
        taken[at:last] = free - arrivals[at:last]
        at = last
    return taken


def mean_ms(batch: int, ms: float, rate_rps: float) -> float:
    """
    Returns the exact mean of what a task takes in a queue of full batches with Poisson arrivals, ms.

    Raises
    ------
    ValueError
        If batches do not carry the rate.
    """
    rate = rate_rps / 1000
    come = rate * ms
    load = come / batch
    if load >= 1:
        raise ValueError(f"batches of {batch} in {ms:g} ms carry {1000 * batch / ms:g} requests/s, not {rate_rps:g}")
    # The chance of X falls by about exp(-2 (1 - load)/load) a task, so that 16/(1 - load) more leave out some 1e-14.
    states = ceil(come + 12 * come**0.5 + 30 + batch + 16 / (1 - load))
    numbers = np.arange(states)
    comes = np.exp(numbers * np.log(come) - come - gammaln(numbers + 1))
    left = np.maximum(numbers - batch, 0)
    shift = numbers[None, :] - left[:, None]
    step = np.where(shift >= 0, comes[np.maximum(shift, 0)], 0.0)
    step[:, -1] += 1 - step.sum(axis=1)
    equations = np.vstack([(step.T - np.eye(states))[:-1], np.ones(states)])
    stationary = np.linalg.solve(equations, np.append(np.zeros(states - 1), 1.0))
    missing = np.maximum(batch - numbers, 0)
    in_system = missing * (batch + np.minimum(numbers, batch) - 1) / 2 / rate
    in_system += (np.maximum(numbers, batch) + come / 2) * ms
    length = float(stationary @ (missing / rate)) + ms
    return float(stationary @ in_system) / length / rate
