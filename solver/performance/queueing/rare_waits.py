"""
Quantiles beyond 0.999 of processes that take batches from one queue (shared_batches.py), on the careful side.

A request that finds Q others that have not begun is in batch Q // b after those that run. With Q < p b it is within
2 T, as each of the p processes begins a batch within T. Else all batches before its own are full and no process falls
idle meanwhile: its own begins when process (Q // b) mod p of those that begin next has begun Q // b // p batches more,
which is known when it comes. So batches need no times of their requests: how many come between two of them, which is
Poisson's, and for some of the late ones when they came, which is as of points spread evenly over that time.

What begins with a batch that leaves nobody waiting, and ends with the next such, is an excursion. Each request comes in
one of them, so

    P(latency > x) = excursions per request * E(late requests of an excursion),    x >= 2 T.

How often excursions begin, and how long the other processes have been busy then, is what `RUNS` independent runs show;
like those of shared_batches.py they begin with all processes free. Few excursions begin with processes in step, and
most requests that are late by little come in these. So excursions are drawn by a weight: if those of a run weigh W
together, one of weight w is drawn with a chance of w / W each time and counts W / w times, which is right for every
w > 0. Errors are least where w is how many late requests it brings. That rises as e^(rate (e^theta - 1) t) with the
time t in which no batch can begin, and each batch before takes off e^(-theta b). So w is that of the next batch of each
process together, for the theta in the middle (below), and `LEAST_WEIGHT` more.

From there excursions are simulated with a rate that is e^theta times as high, with one of three theta for each, and
each late request counts with the likelihood ratio of the three together when it comes,

    1 / mean over theta of exp(theta n - rate (e^theta - 1) t),    n requests, t time since the excursion began

(importance sampling by a mixture: Owen, Monte Carlo theory, methods and examples, 2013, chapter 9; at stopping times:
Asmussen and Glynn, Stochastic Simulation, 2007, chapter V). That gives the expectation of requests at random, exactly,
whatever the theta. The greatest is that of long_waits.py, by which a queue rises over many batches. The least lifts the
rate to what full batches complete: by that large batches that run in step are filled beyond their size within one T,
which makes requests late by little, and of which hardly any is seen where excursions begin at a high level. The third
lies between. No ratio is more than three times that of any theta alone, so none spoils what another is good for.

An excursion is cut off when its ratio is e^-`NEGLIGIBLE`, or after four times as many batches as it takes to get there
with the greatest theta. The means of runs are independent; their mean and three standard errors more are taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..interference.prediction import Floats, Ints
from .long_waits import lift
from .shared_batches import ERRORS, GREATEST, SharedBatches

RUNS = 1024

COUNTED = 24_000
"""Requests in each run during which excursions are counted, after those that are left out."""

FEWEST_COUNTED, COUNTED_OF_FULL = 4_000, 60
"""
Fewer are counted where that is more than so many times the square of the requests in the batches of all processes.

Small batches soon get out of step, after which counting on shows nothing new; until then it is the careful side.
"""

MOST_OF_RUN = 32
"""Excursions that are drawn of each run and simulated."""

LEAST_WEIGHT = 0.003
"""Of an excursion, where one that begins with processes in step has 1 and more: so that none counts for too much."""

BATCHES = 6_000_000
"""Of all excursions together, about, of which fewer are simulated if they are long."""

SAMPLES = 2
"""Late requests that are drawn of those that come between two batches."""

STEPS = 1000
"""Parts of T to which a quantile is rounded up."""

NEGLIGIBLE = 20.0
"""Exponent: ratios of e^-20 are left out."""


class _Queues:
    """Queues of the same processes, each after a batch has begun; arrays of shape (queue,) and (process, queue)."""

    def __init__(self, batch: int, begun: Floats) -> None:
        """All are at time 0 with nobody waiting; `begun`: when each process began its last batch, the oldest first."""
        self.batch = batch
        self.begun = begun
        self.now = np.zeros(begun.shape[1])
        self.waiting = np.zeros(begun.shape[1], dtype=np.int64)
        self._oldest = 0

    def free(self) -> Floats:
        """Returns when the next process is free, of which the next batch is; now, if it is already."""
        return np.asarray(np.maximum(self.begun[self._oldest] + 1, self.now))

    def in_turn(self) -> Floats:
        """Returns `begun` in the order in which the processes begin next."""
        return np.concatenate((self.begun[self._oldest :], self.begun[: self._oldest]))

    def begins(self, ahead: Ints, own: Ints) -> Floats:
        """Returns when the batch begins that has so many full ones ahead; own: the queue of each."""
        processes = len(self.begun)
        return np.asarray(self.begun[(self._oldest + ahead) % processes, own] + 1 + ahead // processes)

    def begin(self, free: Floats, arrived: Ints, pause: Floats) -> Ints:
        """
        Begins a batch in each, and returns how many requests came since the last.

        Parameters
        ----------
        free
            Of this method's name.
        arrived
            Requests that came up to then.
        pause
            How long it takes until the next one comes, if nobody waits then.
        """
        waiting = self.waiting + arrived
        alone = waiting == 0
        self.now = np.where(alone, free + pause, free)
        self.begun[self._oldest] = self.now
        self._oldest = (self._oldest + 1) % len(self.begun)
        self.waiting = np.maximum(waiting - self.batch, 0)
        return np.asarray(arrived + alone)

    def keep(self, those: np.ndarray) -> None:
        """Leaves out all others."""
        self.begun, self.now, self.waiting = self.begun[:, those], self.now[those], self.waiting[those]


@dataclass(frozen=True, eq=False)
class _Late:
    """Late requests; arrays of one shape."""

    run: Ints
    latency: Floats
    weight: Floats
    """Of the requests of its run."""

    def quantile(self, quantile: float) -> float:
        """Returns the latency beyond which no more are than may be; inf: `GREATEST`."""
        order = np.argsort(-self.latency)
        run, falling, weight = self.run[order], -self.latency[order], self.weight[order]

        def too_many(steps: int) -> bool:
            late = np.searchsorted(falling, -(steps / STEPS) - 1e-9)
            of_runs = np.bincount(run[:late], weight[:late], RUNS)
            return bool(of_runs.mean() + ERRORS * of_runs.std(ddof=1) / np.sqrt(RUNS) > 1 - quantile)

        low, high = 2 * STEPS - 1, GREATEST * STEPS
        if too_many(high):
            return np.inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if too_many(middle) else (low, middle)
        return high / STEPS


def rare_quantiles(queue: SharedBatches, load: float, quantiles: Sequence[float], seed: int) -> Floats:
    """Returns quantiles of the latency in units of T, rounded up, shape (quantile,); at least 2, inf: `GREATEST`."""
    draw = np.random.default_rng(seed)
    thetas = lifts(load)
    rise_per_batch = queue.batch * np.expm1(thetas[-1] + np.log(load))
    batches = int(4 * (NEGLIGIBLE / thetas[-1] / rise_per_batch + 4 * queue.processes))
    of_run = int(np.clip(BATCHES / RUNS / batches, 1, MOST_OF_RUN))
    late = _late(queue, load, thetas, _excursions(queue, load, float(thetas[1]), of_run, draw), batches, draw)
    return np.array([late.quantile(quantile) for quantile in quantiles])


def lifts(load: float) -> Floats:
    """Returns the three theta, ascending; all lift the load to 1 and more."""
    least, greatest = -np.log(load), lift(load)
    return np.array([least, (least + greatest) / 2, greatest])


@dataclass(frozen=True, eq=False)
class _Begin:
    """How excursions begin that are simulated."""

    share: Floats
    """Shape (of run, run): how many of the run's excursions each of them stands for, over the requests of the run."""
    begun: Floats
    """Shape (process, of run, run): when each process began its last batch, the oldest first; the excursion at 0."""


def _excursions(queue: SharedBatches, load: float, theta: float, of_run: int, draw: np.random.Generator) -> _Begin:
    """
    Returns how excursions begin that are drawn by weight, with so many draws of each run.

    Of a run without any, which has shares of 0, they say nothing. Each draw is in its turn any of those seen so far
    with its chance by weight: the next takes its place with that part of all weights so far, its own among them.
    """
    full = queue.batch * queue.processes
    rate = load * full
    first = max(12 / (1 - load) ** 2, 12 * full)
    counted = min(max(COUNTED_OF_FULL * full**2, FEWEST_COUNTED, first), COUNTED)
    runs = _Queues(queue.batch, np.full((queue.processes, RUNS), -1.0))
    seen = np.zeros(RUNS)
    drawn, weight = np.zeros((queue.processes, of_run, RUNS)), np.ones((of_run, RUNS))
    while runs.now.min() <= (first + counted) / rate:
        free = runs.free()
        runs.begin(free, draw.poisson(rate * (free - runs.now)), draw.standard_exponential(RUNS) / rate)
        within = (runs.now > first / rate) & (runs.now <= (first + counted) / rate)
        own = np.flatnonzero(within & (runs.waiting == 0))
        begun = runs.in_turn()[:, own] - runs.now[own]
        weighs = _weights(begun, rate * np.expm1(theta), theta * queue.batch)
        seen[own] += weighs
        times = draw.binomial(of_run, weighs / seen[own])
        new = np.flatnonzero(times)
        place, which = np.nonzero(draw.random((of_run, new.size)).argsort(axis=0) < times[new])
        drawn[:, place, own[new][which]] = begun[:, new[which]]
        weight[place, own[new][which]] = weighs[new[which]]
    return _Begin(seen / weight / of_run / counted, drawn)


def _weights(begun: Floats, rise: float, batch: float) -> Floats:
    """
    Returns the weights of excursions, shape (excursion,).

    Parameters
    ----------
    begun
        Shape (process, excursion): when each process began its last batch, the oldest first; an excursion begins at 0.
    rise
        rate (e^theta - 1): of the exponent in each T in which no batch can begin.
    batch
        theta b: by what the exponent falls with a batch.
    """
    busy = np.maximum(begun, -1.0)  # T less than for how long each process still is
    return np.asarray(np.exp(rise * busy - batch * np.arange(len(begun))[:, None]).sum(axis=0) + LEAST_WEIGHT)


def _late(
    queue: SharedBatches, load: float, thetas: Floats, begin: _Begin, batches: int, draw: np.random.Generator
) -> _Late:
    """Returns late requests of excursions that begin so, each simulated for so many batches at most."""
    full = queue.batch * queue.processes
    rate, rise = load * full, load * full * np.expm1(thetas)
    run = np.tile(np.arange(RUNS), begin.begun.shape[1])
    queues = _Queues(queue.batch, begin.begun.reshape(queue.processes, -1).copy())
    lifted = rate * np.exp(thetas)[draw.permutation(run.size) % thetas.size]
    came, share = np.zeros(run.size), begin.share.ravel()
    found = [_Late(run[:0], came[:0], came[:0])]

    def ratio(requests: Floats, time: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(1 / np.exp(thetas[:, None] * requests - rise[:, None] * time).mean(axis=0))

    for _ in range(batches):
        free = queues.free()
        arrived = draw.poisson(lifted * (free - queues.now))
        in_time = np.maximum(full - queues.waiting, 0)
        own = np.repeat(np.flatnonzero(arrived > in_time), SAMPLES)
        if own.size:
            late = arrived[own] - in_time[own]
            place = in_time[own] + 1 + np.floor(draw.random(own.size) * late).astype(np.int64)
            part = draw.beta(place, arrived[own] + 1 - place)
            time = queues.now[own] + part * (free - queues.now)[own]
            begins = queues.begins((queues.waiting[own] + place - 1) // queue.batch, own)
            weight = share[own] * late / SAMPLES * ratio(came[own] + place, time)
            found.append(_Late(run[own], begins + 1 - time, weight))
        came += queues.begin(free, arrived, draw.standard_exponential(run.size) / lifted)
        goes_on = (queues.waiting > 0) & (ratio(came, queues.now) > np.exp(-NEGLIGIBLE))
        if not goes_on.any():
            break
        if not goes_on.all():
            queues.keep(goes_on)
            run, share, lifted, came = run[goes_on], share[goes_on], lifted[goes_on], came[goes_on]
    return _Late(*(np.concatenate([getattr(of, name) for of in found]) for name in ("run", "latency", "weight")))
