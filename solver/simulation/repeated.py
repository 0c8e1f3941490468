"""
A simulation time and again, each time with a seed of its own: as many requests as are wanted, in memory for a few.

Repetition i has the seed + i, and is a call on an executor, so it may be a process here or on a cluster; it answers
with its report, which is all that is kept of it. Together: counts are added up, shares are those of all requests, and a
percentile is the mean of the repetitions' percentiles. Intervals are Student's, from how repetitions differ, which are
independent. The mean of percentiles is not the percentile of all: it is off by about 1 / (requests of a repetition),
which is less than its error as long as repetitions have many more requests than there are of them.
"""

import pickle
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt

import numpy as np
from scipy.special import stdtrit

from ..model.digest import reference
from ..model.errors import Finding, InputError
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.simulation_report import (
    LatencyBin,
    SimulatedPartition,
    SimulatedPercentile,
    SimulatedService,
    SimulationReport,
    Verdict,
)
from ..runtime.interruption import interruption
from ..workers.executors import Workers
from ..workers.gathering import Submission, gathered
from .arrivals.trace import Trace
from .intervals import CLOCK_MS, CONFIDENCE
from .settings import SimulationSettings
from .simulation import simulated_plan

METHOD = "repetitions: shares of all requests, percentiles as their mean, the error by Student's t, 95 %"

MOST = 100_000
"""Repetitions."""


@dataclass(frozen=True, eq=False)
class Repeated:
    """What is simulated, and how often."""

    problem: Problem
    plan: Plan
    settings: SimulationSettings
    number: int
    profiles: Sequence[Profile] = ()
    """Where smaller batches' times and interference coefficients are, if the settings ask for them."""

    def checked(self) -> "Repeated":
        """Returns the same; InputError if it cannot be repeated."""
        findings = []
        if not 1 <= self.number <= MOST:
            findings.append(Finding("--replications", "", f"is {self.number:,}; expected 1 to {MOST:,}"))
        arrivals = [self.settings.arrivals, *self.settings.arrivals_of.values()]
        if self.number > 1 and any(isinstance(one, Trace) for one in arrivals):
            message = "is simulated as it came, once; expected --replications 1, or generated arrivals"
            findings.append(Finding("--arrivals", "trace", message))
        if findings:
            raise InputError(findings)
        return self

    def named(self) -> dict[str, object]:
        """Returns what the answers depend on, to tell whether kept answers are to this; not how many there shall be."""
        asked = self.settings
        named: dict[str, object] = {
            "problem": reference(self.problem).sha256,
            "plan": self.plan.model_dump(mode="json"),
            "arrivals": [asked.arrivals.name, {name: one.name for name, one in asked.arrivals_of.items()}],
            "requests": [asked.requests, asked.seconds, asked.seed, asked.load, asked.quantile],
            "servers": [
                None if asked.dealing is None else asked.dealing.name,
                None if asked.batching is None else asked.batching.name,
                [dict(asked.failures_s), asked.takeover_s],
            ],
            "profiles": [one.model_dump(mode="json") for one in self.profiles] if asked.needs_profiles else None,
        }
        return named if asked.neighbours == "busy" else {**named, "neighbours": asked.neighbours}

    def packed(self) -> bytes:
        """Returns it as it travels to workers."""
        return pickle.dumps(self)


def repetitions(
    asked: Repeated, workers: Workers, known: Collection[int] = (), *, stop: threading.Event | None = None
) -> Iterator[tuple[int, SimulationReport]]:
    """Yields number and report of each repetition as they come, but for those that are known already."""
    stop = interruption() if stop is None else stop
    data = asked.packed()

    def call(index: int) -> Submission:
        return repeated, data, index

    wanted = [index for index in range(asked.number) if index not in known]
    for index, answer, _ in gathered(wanted, call, workers, stop=stop):
        if isinstance(answer, BaseException):
            raise answer
        if answer.stopped == "done":
            yield index, answer


def repeated(data: bytes, index: int) -> SimulationReport:
    """Returns the report of one repetition."""
    asked = _unpacked(data)
    settings = replace(asked.settings, seed=asked.settings.seed + index)
    return simulated_plan(asked.problem, asked.plan, settings, profiles=asked.profiles)


@lru_cache(maxsize=4)
def _unpacked(data: bytes) -> Repeated:
    asked: Repeated = pickle.loads(data)
    return asked


def together(asked: Repeated, reports: Sequence[SimulationReport]) -> SimulationReport:
    """Returns what repetitions say together, one or more, in the order of their seeds."""
    first = reports[0]
    if len(reports) == 1:
        return first.model_copy(update={"stopped": "done" if asked.number == 1 else "interrupted"})
    services = tuple(_service([report.services[i] for report in reports]) for i in range(len(first.services)))
    return first.model_copy(
        update={
            "seed": asked.settings.seed,
            "method": METHOD,
            "services": services,
            "stopped": "done" if len(reports) == asked.number else "interrupted",
            "requests": sum(report.requests for report in reports),
            "runtime_s": sum(report.runtime_s for report in reports),
            "notes": (*first.notes, f"{len(reports):,} repetitions of {asked.number:,}, each with a seed of its own"),
        }
    )


def _service(ones: Sequence[SimulatedService]) -> SimulatedService:
    first = ones[0]
    known = [one.requests - one.waiting for one in ones]
    served = [one.requests - one.waiting - one.dropped for one in ones]
    percentiles = tuple(
        _percentile(share.quantile, [one.percentiles[i].latency_ms for one in ones])
        for i, share in enumerate(first.percentiles)
    )
    in_time = _mean([one.in_time for one in ones], known)
    low, high = _interval([one.in_time for one in ones], in_time)
    promised = next(one for one in percentiles if one.quantile == first.quantile)
    return first.model_copy(
        update={
            "sections": len(ones),
            "requests": sum(one.requests for one in ones),
            "dropped": sum(one.dropped for one in ones),
            "waiting": sum(one.waiting for one in ones),
            "percentiles": percentiles,
            "mean_ms": _mean([one.mean_ms for one in ones], served),
            "wait_ms": _mean([one.wait_ms for one in ones], served),
            "in_time": in_time,
            "in_time_low": None if low is None else max(low, 0.0),
            "in_time_high": None if high is None else min(high, 1.0),
            "holds": _verdict(first, promised),
            "batch_sizes": _batch_sizes(ones),
            "queue_mean": _mean([one.queue_mean for one in ones], [1.0] * len(ones)),
            "queue_longest": max(one.queue_longest for one in ones),
            "histogram": _histogram(ones, known),
            "partitions": _partitions(ones),
        }
    )


def _mean(figures: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """Returns the weighted mean of those that are known; None: none is."""
    pairs = [(one, weight) for one, weight in zip(figures, weights, strict=True) if one is not None and weight > 0]
    total = sum(weight for _, weight in pairs)
    return sum(one * weight for one, weight in pairs) / total if pairs else None


def _interval(figures: Sequence[float | None], value: float | None) -> tuple[float | None, float | None]:
    """Returns the interval of a mean; None: a figure is not known."""
    if value is None or any(one is None for one in figures):
        return None, None
    number = len(figures)
    spread = float(np.std(np.array(figures, dtype=np.float64), ddof=1))
    half = float(stdtrit(number - 1, (1 + CONFIDENCE) / 2)) * spread / sqrt(number)
    return value - half, value + half


def _percentile(quantile: float, latencies: Sequence[float | None]) -> SimulatedPercentile:
    value = None if any(one is None for one in latencies) else _mean(latencies, [1.0] * len(latencies))
    low, high = _interval(latencies, value)
    return SimulatedPercentile(
        quantile=quantile, latency_ms=value, low_ms=None if low is None else max(low, 0.0), high_ms=high
    )


def _verdict(first: SimulatedService, promised: SimulatedPercentile) -> Verdict:
    if first.unstable is not None:
        return "no"
    if promised.latency_ms is None:
        return "unknown" if not first.requests else "no"
    low, high = (inf if one is None else one for one in (promised.low_ms, promised.high_ms))
    if high <= first.slo_ms + CLOCK_MS:
        return "yes" if first.settled else "unsure"
    return "no" if low > first.slo_ms + CLOCK_MS else "unsure"


def _batch_sizes(ones: Sequence[SimulatedService]) -> dict[int, float]:
    sizes = sorted({size for one in ones for size in one.batch_sizes})
    return {size: sum(one.batch_sizes.get(size, 0.0) for one in ones) / len(ones) for size in sizes}


def _histogram(ones: Sequence[SimulatedService], known: Sequence[float]) -> tuple[LatencyBin, ...]:
    drawn = [(one.histogram, weight) for one, weight in zip(ones, known, strict=True) if one.histogram]
    total = sum(weight for _, weight in drawn)
    if not drawn or total <= 0:
        return ()
    return tuple(
        LatencyBin(
            up_to_ms=edge.up_to_ms, share=min(sum(bins[i].share * weight for bins, weight in drawn) / total, 1.0)
        )
        for i, edge in enumerate(drawn[0][0])
    )


def _partitions(ones: Sequence[SimulatedService]) -> tuple[SimulatedPartition, ...]:
    return tuple(
        partition.model_copy(
            update={"utilisation": _mean([one.partitions[i].utilisation for one in ones], [1.0] * len(ones))}
        )
        for i, partition in enumerate(ones[0].partitions)
    )
