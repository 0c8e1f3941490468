"""
The latency rules as `check` states them, on purpose a second time: a planner's are solver/performance/latency_rules.

execution: a batch takes at most slo_fraction of the SLO, and a partition at most its throughput.

The others promise something of requests that wait, up to a rate (`promised_rps`). Here each says whether it holds at a
rate, and the greatest rate follows by bisection, as it holds at all lower ones; a planner computes it in closed form.
What both share is the table of loads (performance/queueing/load_table.py), which is held against the exact chains and
against simulated requests by tests; the formula for requests that are dealt in turns is written out again.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import expm1, log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..metrics.plan_columns import Floats, Ints
from ..model.plan import Promise
from ..model.problem import Problem, Settings, Workload
from ..performance.queueing.load_table import greatest_loads
from .violation import RELATIVE

Times = TypeVar("Times", float, Floats)

BY_STATE = ("least_expected", "central")
"""Ways to deal requests with which what partitions are promised is no sum."""

BISECTIONS = 60

LEAST_RPS = 1e-200
"""Counts as the rate of who gets fewer requests, or none: every k-th of them, with a k that can be multiplied."""

LEAST_THETA = 1e-300
"""Keeps 0 / 0 away where a partition gets next to none of a service's requests."""


def execution_may_take_ms(settings: Settings, slo_ms: Times) -> Times:
    """Returns the part of an SLO, or of each, that execution may take."""
    return slo_ms * settings.slo_fraction


def stated_promise(problem: Problem) -> Promise | None:
    """Returns what a plan for the problem must say that it promises."""
    rule, percentile = problem.settings.latency, problem.settings.latency == "percentile"
    on_queues = rule in ("percentile", "assembly")
    if rule == "execution":
        return None
    own = {workload.name: workload.slo_quantile for workload in problem.workloads if workload.slo_quantile}
    return Promise(
        latency=rule,
        quantile=problem.settings.quantile if percentile else None,
        quantiles=own,
        dispatch=problem.settings.dispatch if percentile else None,
        process_queues=problem.settings.process_queues if on_queues else None,
    )


@dataclass(frozen=True, eq=False)
class OnPartitions:
    """Services on partitions; arrays of shape (row,)."""

    batch: Floats
    processes: Floats
    latency_ms: Floats
    throughput_rps: Floats
    slo_ms: Floats
    quantile: Floats
    rate_rps: Floats
    """Of all of the service."""

    def of(self, rows: Ints) -> "OnPartitions":
        """Returns some of the rows."""
        return OnPartitions(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def full_ms(self) -> Floats:
        """The time that every batch is counted to take."""
        return np.maximum(self.latency_ms, 1000 * self.batch * self.processes / self.throughput_rps)


def promise_in_words(settings: Settings) -> Callable[[Workload], str]:
    """Returns what says the promise to a workload, before `up to ... req/s`."""

    def words(workload: Workload) -> str:
        quantile = settings.quantile if workload.slo_quantile is None else workload.slo_quantile
        part = f"{100 * quantile:g} %" if settings.latency == "percentile" else "all, evenly spaced,"
        return f"{part} are within its SLO of {workload.slo_ms:g} ms"

    return words


def promised_rps(settings: Settings, served: OnPartitions, stated_rps: Floats | None = None) -> Floats:
    """
    Returns the greatest rate at which the promise of a rule other than execution holds, shape (row,).

    `stated_rps`: what a plan says of percentiles; where the promise holds at that, it is returned, also if it would at
    a greater one: it holds at all lower rates, and plans stay right that were made when less was known to hold.
    """
    late = _needed_ms(settings, served) > served.slo_ms * (1 + RELATIVE)
    most = np.where(late, 0.0, 1000 * served.batch * served.processes / served.full_ms)
    if settings.latency in ("worst_case", "assembly"):
        return most
    at_random = _at_random(settings, served)
    found = np.full(most.shape, np.nan) if stated_rps is None else stated_rps.copy()
    holds = _percentile_holds(settings, served, at_random, found * (1 - RELATIVE / 10))
    found = np.where((found > 0) & holds & ~late, found, np.nan)
    open_ = np.flatnonzero(np.isnan(found) & ~late)
    if open_.size:
        found[open_] = _bisected(settings, served.of(open_), at_random[open_], most[open_])
    return np.where(late, 0.0, found)


def promised_together(
    settings: Settings,
    served: OnPartitions,
    service: Ints,
    in_turns_rps: Floats,
    stated_rps: Floats | None = None,
) -> Floats:
    """
    Returns what partitions are promised beside the others of their services, where that is no sum; shape (row,).

    The formula of performance/queueing/server_set.py, written out again, or what they carry in weighted turns, which
    holds with better routers too: whichever is more for all of a service. Or what is stated, if that is within one of
    the two on each of its partitions.

    Parameters
    ----------
    service
        Shape (row,): a number of each row's service.
    in_turns_rps
        Shape (row,): as `promised_rps` gives it.
    stated_rps
        Shape (row,): what the plan says; None: nothing.
    """
    if settings.latency != "percentile" or settings.dispatch not in BY_STATE:
        return in_turns_rps
    found = in_turns_rps.copy()
    order = np.argsort(service, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(service[order])) + 1):
        one = served.of(rows)
        full_rps = 1000 * one.batch * one.processes / one.full_ms
        by_set = _load_of_set(one) * full_rps
        if by_set.sum() >= in_turns_rps[rows].sum():
            found[rows] = by_set
        if stated_rps is not None:
            stated = stated_rps[rows]
            if any((stated <= way * (1 + RELATIVE)).all() for way in (by_set, in_turns_rps[rows])):
                found[rows] = stated
    return found


def _load_of_set(one: OnPartitions) -> float:
    """Returns the load that the partitions of one service hold together."""
    if not one.batch.size or one.quantile[0] > 0.999 + RELATIVE**2:
        return 0.0
    if (2 * one.full_ms > one.slo_ms * (1 + RELATIVE)).any():
        return 0.0
    completed = float((one.batch * one.processes * (one.slo_ms - one.full_ms) / one.full_ms).sum())
    forming = float((one.processes * (0.93 * one.batch - 4.2).clip(0)).sum())
    # Above 0: each completes at least a batch of each process in the time that is left, and 0.93 of it may be forming.
    left = completed - max(forming, 0.7 * (float(one.batch.max()) - 1))
    theta = log(1 / (1 - max(float(one.quantile[0]), 0.95))) / left
    load = theta / max(expm1(min(theta, 700)), LEAST_THETA) - (0.055 if one.quantile[0] > 0.99 + RELATIVE**2 else 0.025)
    return min(max(load, 0.0), 0.97)


def _needed_ms(settings: Settings, served: OnPartitions) -> Floats:
    """Returns the shortest SLO that a request keeps at all: it waits for a batch, or for its own, and is run."""
    if settings.latency != "assembly":
        return 2 * served.full_ms
    at_once = served.processes if settings.process_queues == "shared" else np.ones_like(served.processes)
    return served.full_ms + np.where(served.batch > 1, served.full_ms / at_once, 0.0)


def held_ms(settings: Settings, served: OnPartitions) -> Floats:
    """Returns how long a batch must be held for more requests (`dispatch_after_ms`), shape (row,); nan: not at all."""
    if settings.latency != "assembly":
        return np.full(served.batch.shape, np.nan)
    left_ms = served.slo_ms - served.full_ms
    return np.where((served.batch > 1) & (left_ms > 0), left_ms, 0.0)


def _bisected(settings: Settings, served: OnPartitions, at_random: Floats, most: Floats) -> Floats:
    low, high = np.zeros(most.shape), most.copy()
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        holds = _percentile_holds(settings, served, at_random, middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low


def _at_random(settings: Settings, served: OnPartitions) -> Floats:
    """Returns the load at which the processes of one queue hold for requests at random, from the table."""
    on_one_queue = np.ones_like(served.processes) if settings.process_queues == "own" else served.processes
    batch, processes = (np.minimum(of, 1 << 20).astype(np.int64) for of in (served.batch, on_one_queue))
    return greatest_loads(batch, processes, np.maximum(served.slo_ms / served.full_ms, 0.0), served.quantile)


def _percentile_holds(
    settings: Settings, served: OnPartitions, at_random: Floats, rate_rps: Floats
) -> NDArray[np.bool_]:
    """Returns whether the quantile is in time where a partition gets a rate."""
    own = settings.process_queues == "own"
    processes = np.where(own, 1.0, served.processes)
    rate_of_one = rate_rps / np.where(own, served.processes, 1.0)
    load = rate_of_one * served.full_ms / (1000 * served.batch * processes)
    holds = (at_random > 0) & (load <= at_random)
    # At random the formula is not safe of several processes beyond the quantiles that it was fitted to.
    fitted = served.quantile <= 0.99 + RELATIVE**2
    if settings.dispatch == "random":
        counts = (processes > 1) & fitted
        return np.asarray(holds | (counts & (load <= _formula(served, processes, np.ones(load.shape)))))
    every = np.maximum(np.floor(served.rate_rps / np.maximum(rate_of_one, LEAST_RPS) * (1 + 1e-12)), 1.0)
    counts = (processes == 1) | fitted | (every > 1)
    return np.asarray(holds | (counts & (load <= _formula(served, processes, every))))


def _formula(served: OnPartitions, processes: Floats, every: Floats) -> Floats:
    """Returns the load of performance/queueing/shared_queue.py for every k-th of requests at random."""
    batch, quantile = served.batch, np.maximum(served.quantile, 0.95)
    first = (batch - 1) * processes - (batch - 1) * (processes - 0.7) / every
    lost = np.maximum(first, processes * (0.93 * batch - 4.2)) + (batch > 1) * 0.35 * (every - 1) / every
    room = batch * processes * (served.slo_ms / served.full_ms - 1) - lost
    theta = np.log(1 / (1 - quantile)) / (every * np.where(room > 0, room, np.nan))
    # For the least theta there are, expm1(theta) is theta.
    load = theta / np.maximum(np.expm1(np.minimum(theta, 700)), LEAST_THETA) - np.where(
        quantile > 0.99 + RELATIVE**2, 0.026, 0.013
    )
    return np.where((room > 0) & (quantile <= 0.999 + RELATIVE**2), np.minimum(load, 0.97), 0.0)
