"""
Processes that take batches from one queue, simulated: quantiles of the latency on the careful side.

p processes execute batches of at most b in one time T each, whatever their size, and take what waits as soon as they
are free; requests come at random (Poisson) with rate load * b p / T. No chain of numbers is known for it: what is left
in a queue depends on when the other processes began. As all batches take T, processes become free in the order in which
they began: batch n begins at the later of T after the beginning of batch n - p and the arrival of its first request.

`RUNS` independent runs give for every x a part of the requests that is later than x in each. Their mean and
`ERRORS` standard errors more are taken for the part that is: that is the side on which less is promised. The chance
that the true part is greater is about 0.2 % for each number (Student's t). Runs begin empty and the first requests are
left out: 12 / (1 - load)^2, in which a queue in heavy traffic forgets several times where it began, and at least as
many as 12 full batches of every process. All loads are simulated with the same draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..interference.prediction import Floats, Ints

RUNS = 128

COUNTED = 24_000
"""Requests in each run, after those that are left out."""

MOST_LEFT_OUT = 14_000
"""Requests, at a load of 0.97 or with 1,000 requests in the batches of all processes."""

ERRORS = 3.0

STEPS = 200
"""Parts of T to which a quantile is rounded up."""

GREATEST = 40
"""T, beyond which latencies are not told apart."""


@dataclass(frozen=True)
class SharedBatches:
    """The processes."""

    processes: int
    batch: int

    def quantiles(self, load: float, quantiles: Sequence[float]) -> Floats:
        """
        Returns quantiles of the latency in units of T, rounded up, shape (quantile,); inf: beyond `GREATEST`.

        Parameters
        ----------
        load
            Above 0, and at most 0.97.
        """
        first = int(max(12 / (1 - load) ** 2, 12 * self.batch * self.processes))
        arrivals = _arrivals(COUNTED + MOST_LEFT_OUT)[:, : first + COUNTED] / (load * self.batch * self.processes)
        latency = self.latencies(arrivals)[:, first:]
        step = np.minimum(np.ceil(latency * STEPS - 1e-9).astype(np.int64), GREATEST * STEPS + 1)
        row = np.arange(RUNS)[:, None] * (GREATEST * STEPS + 2)
        found = np.bincount((row + step).ravel(), minlength=RUNS * (GREATEST * STEPS + 2)).reshape(RUNS, -1)
        late = 1 - np.cumsum(found, axis=1) / latency.shape[1]
        most = late.mean(axis=0) + ERRORS * late.std(axis=0, ddof=1) / np.sqrt(RUNS)
        holds = most[None, :-1] <= 1 - np.asarray(quantiles)[:, None]
        return np.where(holds.any(axis=1), holds.argmax(axis=1) / STEPS, np.inf)

    def latencies(self, arrivals: Floats) -> Floats:
        """Returns the latency of each request in units of T; `arrivals`: shape (run, request), ascending in a run."""
        begin, size = self.batches(arrivals)
        return np.repeat(begin.ravel(), size.ravel()).reshape(arrivals.shape) + 1 - arrivals

    def batches(self, arrivals: Floats, begun: Floats | None = None) -> tuple[Floats, Ints]:
        """
        Returns when each batch begins and how many it takes, shape (run, batch); size 0, inf: after the last one.

        Parameters
        ----------
        arrivals
            Shape (run, request), ascending in a run, in units of T.
        begun
            Shape (process, run): when each process began its last batch, the oldest first; None: all are free at 0.
        """
        runs, count = arrivals.shape
        # Beyond the last request of a run none comes.
        times = np.concatenate((arrivals, np.full((runs, self.batch), np.inf)), axis=1).ravel()
        offset = np.arange(runs) * (count + self.batch)
        window = np.arange(self.batch)
        begun = np.full((self.processes, runs), -1.0) if begun is None else begun.copy()
        done, taken = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=np.int64)
        begins: list[Floats] = []
        sizes: list[Ints] = []
        while (done < count).any():
            process = len(begins) % self.processes
            at = offset + done
            begin = np.maximum(begun[process] + 1, times[at])
            taken = np.count_nonzero(times[at[:, None] + window] <= begin[:, None], axis=1)
            taken = np.where(done < count, taken, 0)
            done += taken
            begun[process] = begin
            begins.append(begin)
            sizes.append(taken)
        return np.stack(begins, axis=1), np.stack(sizes, axis=1)


@cache
def _arrivals(count: int) -> Floats:
    """Returns times of arrival at rate 1, shape (run, request)."""
    draw = np.random.default_rng(1)
    return np.cumsum(draw.standard_exponential((RUNS, count)), axis=1)
