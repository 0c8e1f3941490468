"""
Quantiles of 0.995 to 0.999 of processes that take batches from one queue (shared_batches.py), on the careful side.

So few requests are late that hardly any is seen when all are simulated. Every late one, with a latency of more than
2 T, waits longer than T: each of the p processes has begun a full batch of b others meanwhile, so at least p b wait
before it. The queue has then risen to any level of at most p b since it was last empty. Call what begins where it first
does, and ends where a batch leaves nobody waiting, an ascent: then

    P(latency > x) = ascents per request * E(late requests of an ascent),    x >= 2 T.

How often ascents begin, and in which states, is counted in `RUNS` independent runs of requests at random. From those
states ascents are simulated with a rate that is e^theta times as high, and each request counts with the likelihood
ratio up to it,

    exp(-theta n + rate (e^theta - 1) t),    n requests, t time since the ascent began

(importance sampling: Asmussen and Glynn, Stochastic Simulation, 2007, chapters V and VI). That gives the expectation of
requests at random, exactly, for that a request is late, and that the ascent goes on, is known when it comes.

theta is at most the root of e^theta - 1 = theta / load (Cramer's). So no ratio is large: processes that are all busy
begin at most about p b t / T requests in t, so n is that and what the queue rose by, and the ratio at most about
e^(-theta * rise). The queue mostly rises for ever; an ascent is cut off after so many requests that those left out have
ratios of e^-`NEGLIGIBLE` and less. The means of runs are independent: their mean and three standard errors more are
taken, as in shared_batches.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..interference.prediction import Floats, Ints
from .shared_batches import ERRORS, GREATEST, RUNS, STEPS, SharedBatches

COUNTED = 24_000
"""Requests in each run, after those that are left out: fewer leave how often ascents begin uncertain."""

LEVEL = 0.9
"""Part of the requests that find fewer waiting than the level from which an ascent begins, if that is below p b."""

MOST_LIFTED = 1.8
"""The greatest load of an ascent: at low loads requests that come in a short time make others late, not a long rise."""

NEGLIGIBLE = 24.0
"""Exponent: ratios of e^-24 are left out."""

REQUESTS = 1_500_000
"""Of all ascents of a seed together, about."""

FEWEST, MOST = 2, 64
"""Ascents that are simulated for each run."""

FEW = 100
"""Ascents, of the three million requests of all runs, with fewer of which nearly nobody waits, and none for T."""


@dataclass(frozen=True, eq=False)
class _Ascents:
    """Where ascents begin, at time 0; arrays of shape (ascent,)."""

    run: Ints
    share: Floats
    """How many of the run's ascents each stands for, over the requests of the run."""
    begun: Floats
    """Shape (process, ascent): when each process began its batch, the oldest first."""
    waiting: Floats
    """Shape (ascent, request): when those that wait came, the last at 0."""


def long_quantiles(queue: SharedBatches, load: float, quantiles: Sequence[float], seed: int) -> Floats:
    """
    Returns quantiles of the latency in units of T, rounded up, shape (quantile,); at least 2, inf: beyond `GREATEST`.

    nan where fewer than `FEW` ascents were seen: nothing is known, but that nearly nobody waits.
    """
    draw = np.random.default_rng(seed)
    theta = lift(load)
    rate = load * queue.batch * queue.processes
    count = int(1.25 * NEGLIGIBLE / (theta * (1 - np.exp(-theta) / load))) + 3 * queue.batch * queue.processes
    for_each = int(np.clip(REQUESTS / RUNS / count, FEWEST, MOST))
    ascents = _ascents(queue, load, for_each, draw)
    if ascents is None:
        return np.full(len(quantiles), np.nan)
    after = np.cumsum(draw.standard_exponential((ascents.run.size, count)), axis=1) / (rate * np.exp(theta))
    arrivals = np.concatenate((ascents.waiting, after), axis=1)
    begin, size = queue.batches(arrivals, ascents.begun)
    begins = np.repeat(begin.ravel(), size.ravel()).reshape(arrivals.shape)
    ratio = np.zeros(arrivals.shape)
    before = ascents.waiting.shape[1]
    ratio[:, before - 1] = 1.0
    ratio[:, before:] = np.exp(-theta * np.arange(1, count + 1) + rate * np.expm1(theta) * after)
    # The ascent is over where a request comes after all before it have begun.
    ratio[:, 1:] *= ~np.logical_or.accumulate(arrivals[:, 1:] > begins[:, :-1], axis=1)
    step = np.minimum(np.ceil((begins + 1 - arrivals) * STEPS - 1e-9).astype(np.int64), GREATEST * STEPS + 1)
    cell = ascents.run[:, None] * (GREATEST * STEPS + 2) + step
    weight = ratio * ascents.share[:, None]
    found = np.bincount(cell.ravel(), weight.ravel(), RUNS * (GREATEST * STEPS + 2)).reshape(RUNS, -1)
    late = (np.cumsum(found[:, ::-1], axis=1)[:, ::-1] - found)[:, 2 * STEPS : -1]
    most = late.mean(axis=0) + ERRORS * late.std(axis=0, ddof=1) / np.sqrt(RUNS)
    holds = most[None, :] <= 1 - np.asarray(quantiles)[:, None]
    return np.where(holds.any(axis=1), 2 + holds.argmax(axis=1) / STEPS, np.inf)


def lift(load: float) -> float:
    """Returns theta: the root of e^theta - 1 = theta / load, at most what lifts the load to `MOST_LIFTED`."""
    most = np.log(MOST_LIFTED / load)
    if np.expm1(most) <= most / load:
        return float(most)
    return float(brentq(lambda theta: np.expm1(theta) - theta / load, -np.log(load), most))


def _ascents(queue: SharedBatches, load: float, for_each: int, draw: np.random.Generator) -> _Ascents | None:
    """Returns ascents, so many drawn for each run if it has more; None: fewer than `FEW` were seen."""
    first = int(max(12 / (1 - load) ** 2, 12 * queue.batch * queue.processes))
    full = queue.batch * queue.processes
    arrivals = np.cumsum(draw.standard_exponential((RUNS, first + COUNTED)), axis=1) / (load * full)
    begin, size = queue.batches(arrivals)
    waiting = np.arange(1, first + COUNTED + 1) - _begun_by(arrivals, begin, size)
    level = int(np.clip(np.quantile(waiting[:, first:], LEVEL), 1, full))
    begins = _first_at(waiting, level)
    begins[:, :first] = False
    if np.count_nonzero(begins) < FEW:
        return None
    runs: list[int] = []
    places: list[int] = []
    shares: list[float] = []
    for run, own in enumerate(begins):
        places_of_run = np.flatnonzero(own)
        drawn = draw.permutation(places_of_run)[:for_each]
        runs += [run] * drawn.size
        places += drawn.tolist()
        shares += [places_of_run.size / max(drawn.size, 1) / COUNTED] * drawn.size
    own_run, place = np.array(runs), np.array(places)
    now = arrivals[own_run, place]
    batches = np.array([np.searchsorted(begin[r], time, side="right") for r, time in zip(runs, now, strict=True)])
    begun = begin[own_run, batches - queue.processes + np.arange(queue.processes)[:, None]] - now
    came = arrivals[own_run[:, None], place[:, None] + np.arange(1 - level, 1)] - now[:, None]
    return _Ascents(own_run, np.array(shares), begun, came)


def _begun_by(arrivals: Floats, begin: Floats, size: Ints) -> Ints:
    """Returns how many requests of a run have begun when each comes, itself among them if it does; as `arrivals`."""
    taken = np.cumsum(size, axis=1)
    batches = np.stack([np.searchsorted(b, a, side="right") for a, b in zip(arrivals, begin, strict=True)])
    return np.asarray(np.where(batches > 0, np.take_along_axis(taken, np.maximum(batches - 1, 0), axis=1), 0))


def _first_at(waiting: Ints, level: int) -> np.ndarray:
    """Returns which requests, shape (run, request), find the queue risen to a level first since it was empty."""
    place = np.arange(waiting.shape[1])
    empty = np.maximum.accumulate(np.where(waiting <= 1, place, -1), axis=1)
    reached = np.maximum.accumulate(np.where(waiting >= level, place, -1), axis=1)
    before = np.concatenate((np.full((len(waiting), 1), -1), reached[:, :-1]), axis=1)
    return np.asarray((waiting >= level) & (before < empty))
