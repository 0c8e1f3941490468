"""
A percentile in time: of the requests of a service, which arrive at random (Poisson), a part q is within its SLO.

Every batch is counted to take the time T of a full one (full_batch.py), as where an engine pads its batches; a free
process takes what waits at once. A partition promises nothing where T is more than half of the SLO: a request that just
misses a batch waits T and executes T. Else what it carries is load x b p / T, with a load that holds at every lower one
too, so that the promise holds when rates fall:

- requests dealt at random (which keeps them Poisson): the table of queueing/load_table.py, exact for one process and
  for batches of one, simulated for several processes that take batches;
- requests dealt in weighted turns: the measured formula of queueing/shared_queue.py, and at random too where that says
  more: of several processes up to the quantile that it was fitted to, beyond which it is no longer safe there;
- processes with queues of their own are servers of one process each, to which requests are dealt as to partitions.

Dealt in weighted turns, with the planned rates as weights, a server with rate r of a service's R gets at most every
k-th request, k = floor(R / r), and what it carries rises with k. The greatest r that holds is

    max over k of min(load_k b p / T, R / k),    k = 1 (any r) being the random split

(there the table too, which then only has to carry arrivals that are smoother than its own; that smoother arrivals are
no worse was so in every simulation and is not proven). It depends on the service's rate alone, not on its
other partitions: with c_i(R) so for partition i, rates r_i that hold and add up to R exist exactly if
sum_i c_i(R) >= R, as every rate below c_i(R) holds too, and r_i = R c_i / sum_j c_j are such rates. So a plan is a
cover as under any other rule. c_i(R) never falls with R, and c_i(R) / R never rises: what fits at some rates fits at
lower ones. In trouble (`spare_rate`), partitions count for what they carry at the planned rate, which is no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints
from ..queueing.load_table import greatest_loads, longest_times
from ..queueing.shared_queue import FITTED, GREATEST_MEASURED, MOST, greatest_shared_loads, longest_of_every
from .execution import in_tenths
from .full_batch import batch_time_ms, most_carried
from .rule import TOLERANCE, Asked, Group

ROUNDING = 1e-12
"""Relative, of R / r: a third of a rate is every third request."""


@dataclass(frozen=True, eq=False)
class _Servers:
    """Servers and what is asked of them; arrays of one shape."""

    batch: Ints
    processes: Ints
    slack: Floats
    """SLO over T."""
    full_rps: Floats
    """Throughput with full batches."""
    quantile: Floats
    rate_rps: Floats
    """Of the whole service."""

    def of(self, rows: np.ndarray) -> "_Servers":
        """Returns some of them, by their places."""
        if rows.size == self.slack.size:
            return self
        return _Servers(
            self.batch[rows],
            self.processes[rows],
            self.slack[rows],
            self.full_rps[rows],
            self.quantile[rows],
            self.rate_rps[rows],
        )

    def at_every(self, every: Floats | float) -> Floats:
        """Returns what each carries of requests of which it gets every k-th; one k for all, or one for each."""
        load = greatest_shared_loads(self.batch, self.processes, self.slack, self.quantile, every)
        return load * self.full_rps


@dataclass(frozen=True)
class Percentile:
    """The rule, with how requests are dealt."""

    by_turns: bool
    """In weighted turns; else at random."""
    shared: bool
    """Whether the processes of a partition take from one queue."""

    @property
    def depends_on_rate(self) -> bool:
        """Dealt in turns, a partition of a service with more rate gets a smaller, more even part of it."""
        return self.by_turns

    @property
    def part_of_slo(self) -> float:
        """One half: a request that just misses a batch waits T and executes T."""
        return 1 / 2

    def longest_ms(self, batch: Ints, rate_rps: Floats, asked: Asked) -> Floats:
        """
        Returns the longest time of a batch with which one process carries a rate.

        It is the greatest T at which the table of the exact chain or, dealt in turns, the formula for every k-th
        request allows the rate r. Of k only the greatest with R / k >= r matters, as load_k rises with it, so these are
        all T with `greatest_rps` >= r: there the maximum over k is reached at that k or a smaller one.
        """
        b, rate, slo, quantile, whole = np.broadcast_arrays(
            batch, rate_rps, asked.slo_ms, asked.quantile, asked.rate_rps
        )
        longest = longest_times(b, slo, quantile, rate)
        if self.by_turns:
            every = np.maximum(np.floor(whole / rate * (1 + ROUNDING)), 1.0)
            longest = np.maximum(longest, longest_of_every(b, slo, quantile, every, rate))
        return longest

    def time_ms(self, points: OperatingPoints) -> Floats:
        """Returns the time that every batch is counted to take."""
        return batch_time_ms(points)

    def greatest_rps(self, points: OperatingPoints, asked: Asked) -> Floats:
        """As the protocol says."""
        time_ms = batch_time_ms(points)
        slack = asked.slo_ms / time_ms
        quick = slack * (1 + TOLERANCE) >= 2
        all_quick = bool(quick.all())  # mostly, of points that were chosen for it

        def of_quick(values: Floats | Ints) -> np.ndarray:
            every = np.broadcast_to(values, slack.shape)
            return every.ravel() if all_quick else every[quick]

        together = of_quick(points.processes)
        processes = together if self.shared else np.ones_like(together)
        batch = of_quick(points.batch)
        servers = _Servers(
            batch,
            processes,
            of_quick(slack),
            1000.0 * batch * processes / of_quick(time_ms),
            of_quick(asked.quantile),
            of_quick(asked.rate_rps),
        )
        carried = self._carried(servers) * (together / processes)
        if all_quick:
            return np.asarray(carried.reshape(slack.shape))
        found = np.zeros(slack.shape)
        found[quick] = carried
        return found

    def best_of(self, groups: Sequence[Group]) -> list[tuple[Ints, Floats]]:
        """As the protocol says."""
        return most_carried(groups, self.greatest_rps, MOST)

    def too_slow(self, slo_ms: float, fastest_ms: float, where: str) -> str:
        """As the protocol says."""
        return (
            f"its SLO of {slo_ms:g} ms is too short: a request that just misses a batch waits for it and is executed "
            f"in the next, so a batch may take half of it, {slo_ms / 2:g} ms, and the fastest batch takes "
            f"{fastest_ms:.4g} ms ({where}); an SLO of {in_tenths(2 * fastest_ms):g} ms would do"
        )

    def _carried(self, servers: _Servers) -> Floats:
        """Returns what each server carries."""
        load = greatest_loads(servers.batch, servers.processes, servers.slack, servers.quantile)
        at_random = load * servers.full_rps
        counts = self.by_turns | (servers.processes > 1)
        counts &= (servers.processes == 1) | (servers.quantile <= FITTED + TOLERANCE)
        formula = np.flatnonzero(counts)
        some = servers.of(formula)
        at_random[formula] = np.maximum(at_random[formula], some.at_every(1.0))
        if not self.by_turns:
            return at_random
        # Every second request, or fewer, is half of the rate at most; where nothing was measured, turns carry nothing.
        measured = servers.quantile <= GREATEST_MEASURED + TOLERANCE
        partly = np.flatnonzero((at_random < servers.rate_rps / 2) & measured)
        at_random[partly] = np.maximum(at_random[partly], _by_turns(servers.of(partly), at_random[partly]))
        return at_random


def _by_turns(servers: _Servers, at_random: Floats) -> Floats:
    """
    Returns max over k of min(load_k C, R / k), k > 1, for servers that do not carry half of their service at random.

    load_k rises with k and R / k falls: the maximum is at the last k with load_k C <= R / k, or the one after it. No
    load is above MOST, so that k is at least R / (MOST C). Beyond R / `at_random`, which each carries of requests at
    random, it carries no more than that of every k-th, and what is returned is of no matter.
    """
    last = np.maximum(np.floor(servers.rate_rps / (MOST * servers.full_rps)), 1.0)
    known = at_random > 0
    beyond = np.full(servers.slack.shape, 2.0)
    np.divide(servers.rate_rps, at_random, out=beyond, where=known)
    beyond = np.maximum(np.floor(beyond), last) + 1
    wanted = np.flatnonzero(~known)
    wanted = wanted[_fits(servers, wanted, beyond)]
    while wanted.size:
        last[wanted], beyond[wanted] = beyond[wanted], 2 * beyond[wanted]
        wanted = wanted[_fits(servers, wanted, beyond)]
    wanted = np.flatnonzero(beyond - last > 1)
    while wanted.size:
        middle = last.copy()
        middle[wanted] = np.floor((last[wanted] + beyond[wanted]) / 2)
        fits = _fits(servers, wanted, middle)
        last[wanted[fits]], beyond[wanted[~fits]] = middle[wanted[fits]], middle[wanted[~fits]]
        wanted = wanted[beyond[wanted] - last[wanted] > 1]
    return np.asarray(np.maximum(np.where(last > 1, servers.at_every(last), 0.0), servers.rate_rps / beyond))


def _fits(servers: _Servers, rows: Ints, every: Floats) -> np.ndarray:
    """Returns for some of the servers whether what they carry of every k-th request is no more than the k-th part."""
    some = servers.of(rows)
    return np.asarray(some.at_every(every[rows]) * every[rows] <= some.rate_rps)
