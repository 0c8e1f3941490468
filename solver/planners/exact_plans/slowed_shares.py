"""
Shares of GPUs under MPS on which services take turns, slowed by their neighbours by iGniter's model.

A latency rises with what the other shares do to the cache and to the power of all, and with how many shares there are
(performance/interference/igniter.py), and no neighbour makes one shorter. So services achieve most beside neighbours
that ask least: bounds take them so. Packings take them as in some surroundings that GPUs have.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median

import numpy as np

from ...exact.turns.columns.crowds import Crowds
from ...exact.turns.columns.slots import Slots, slots_of
from ...exact.turns.columns.slowed_gpus import Placed, SlowedGpus
from ...exact.turns.columns.time_shares import time_shares
from ...performance.alone import EveryShare, each_kind, greatest_within
from ...performance.fleet_types import FleetType
from ...performance.interference.prediction import Channels, Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TurnRule

Latency = Callable[[int, EveryShare], Floats]
"""Of a workload of a kind and what it achieves alone: latencies of shape (batch, share), in ms."""


@dataclass(frozen=True)
class Surroundings:
    """How many shares a GPU has, and what one service of each asks of power (W) and cache (percent), all together."""

    shares: int
    totals: Channels


MOST_SHARES = 16
"""Shares of a GPU that a bound tells apart: more count as so many."""

MOST_IN_TIME, SERVICES_IN_TIME, ENOUGH_S = 8, 200, 10.0
"""The same of a percentile, whose rounds take longer to look up: where there are no more services and so much time;
else all count as one, to be quick."""

ALONE = Surroundings(1, (np.zeros(()), np.zeros(())))
"""On a GPU with one share."""


def is_slowed_by_igniter(resolved: ResolvedProblem, entry: FleetType) -> bool:
    """Tells whether a GPU type is shared by MPS, and iGniter's model says how services slow each other there."""
    mps = resolved.mps.get(entry.gpu.name)
    return mps is not None and bool(mps.usable.any())


def slowed_gpus(resolved: ResolvedProblem, rule: TurnRule) -> dict[str, SlowedGpus]:
    """Returns the GPU types whose shares slow each other by iGniter's model, by name."""
    return {
        mps.gpu: SlowedGpus(
            mps.model,
            mps.percent(np.arange(1, mps.capacity_units + 1)),
            mps.clients,
            mps.memory_mib,
            mps.demand_mib,
            resolved.limit_ms,
            rule,
            mps.least_units,
        )
        for entry in resolved.fleet
        if is_slowed_by_igniter(resolved, entry)
        for mps in (resolved.mps[entry.gpu.name],)
    }


def crowded(mps: MpsType, number: int) -> Surroundings:
    """Returns the surroundings on a GPU with so many like shares of services that ask neither much nor little."""
    percent = mps.percent(np.array([max(mps.least_units, mps.capacity_units // number)]))
    asked = []
    for rows, alone in each_kind(mps):
        at = rows[:1], alone.batch, percent
        asked.append([median(one.tolist()) for one in mps.model.demands_at(at[0], mps.model.ability_rps(*at))])
    return Surroundings(number, tuple(np.asarray(number * mean(each)) for each in zip(*asked, strict=True)))


def surroundings_of(gpus: SlowedGpus, dealt: Sequence[tuple[Placed, ...]]) -> Surroundings:
    """Returns the middle ones of what some GPUs are."""
    asked = gpus.asked_of(dealt)
    totals = tuple(np.asarray(median(each)) for each in zip(*(of_gpu for _, of_gpu in asked), strict=True))
    return Surroundings(round(median(shares for shares, _ in asked)), totals)


@dataclass(frozen=True, eq=False)
class AtBest:
    """
    What services achieve at best on shares of 1, 2, ... units, on a GPU with a number of shares or more.

    On fewer units than the smallest share has: nothing.
    """

    alone_rps: Floats
    """Shape (unit, service)."""
    batch: Ints
    """Shape (service, option)."""
    latency_ms: Floats
    """Shape (unit, service, option); inf: there is no such option."""

    def shares(self, mps: MpsType, rate_rps: Floats, rule: TurnRule) -> Floats:
        """Returns what services need at least of the time of shares, shape (unit, service)."""
        nothing = np.zeros(self.batch.shape)
        of_units = [
            Slots(mps.gpu, "", own, np.full(own.shape, -1), self.batch, latency_ms, nothing, mps.memory_mib)
            for own, latency_ms in zip(self.alone_rps, self.latency_ms, strict=True)
        ]
        return np.array([time_shares(one, rate_rps, rule) for one in of_units])


def at_best(resolved: ResolvedProblem, mps: MpsType, number: int) -> AtBest:
    """Returns it for GPUs with so many shares, of which the others ask what any service asks at least on any share."""
    percent, first = mps.percent(mps.shares), mps.least_units - 1
    least = _least_demands(mps, percent)
    services, options = len(resolved.required_rps), max((len(one) for one in mps.batches), default=0)
    alone_rps, batch = np.zeros((mps.capacity_units, services)), np.ones((services, options), dtype=np.int64)
    every_ms = np.full((mps.capacity_units, services, options), np.inf)
    for rows, alone in each_kind(mps):
        at = rows[:1, None], alone.batch[:, None], percent[None]
        own = mps.model.demands_at(at[0], mps.model.ability_rps(*at))
        totals = tuple(one + (number - 1) * other for one, other in zip(own, least, strict=True))
        latency, throughput = mps.model.among(*at, totals=totals, residents=np.array(number))
        batch[rows, : alone.batch.size] = alone.batch
        every_ms[first:, rows, : alone.batch.size] = latency.T[:, None, :]
        for k in range(percent.size):
            if mps.promise is None:
                alone_rps[first + k, rows] = greatest_within(latency[:, k], throughput[:, k], resolved.limit_ms[rows])
            else:
                points = replace(alone, latency_ms=latency, throughput_rps=throughput).of_share(k)
                [(_, carried)] = mps.promise.rule.best_of([(points, mps.promise.asked.of(rows))])
                alone_rps[first + k, rows] = carried
    return AtBest(alone_rps, batch, every_ms)


def _least_demands(mps: MpsType, percent: Floats) -> list[float]:
    """Returns the least that any service asks with any batch on any share: of power, and of cache."""
    least: list[float] = []
    for rows, alone in each_kind(mps):
        at = rows[:1, None], alone.batch[:, None], percent[None]
        own = [float(one.min()) for one in mps.model.demands_at(at[0], mps.model.ability_rps(*at))]
        least = [min(pair) for pair in zip(least or own, own, strict=True)]
    return least


def crowds_of(resolved: ResolvedProblem, entry: FleetType, rule: TurnRule, time_limit_s: float) -> Crowds:
    """Returns what services need at least of the shares of a GPU type, by how many a GPU has."""
    mps = resolved.mps[entry.gpu.name]
    has_time = len(resolved.required_rps) <= SERVICES_IN_TIME and time_limit_s >= ENOUGH_S
    told_apart = MOST_SHARES if rule.quantile is None else MOST_IN_TIME if has_time else 1
    most = min(told_apart, mps.capacity_units // mps.least_units, mps.clients)
    shares = np.full((most, mps.capacity_units, len(resolved.required_rps)), np.inf)
    for n in range(most):
        best = at_best(resolved, mps, n + 1).shares(mps, resolved.required_rps, rule)
        left = mps.capacity_units - n * mps.least_units
        shares[n, :left] = best[:left]
    return Crowds(entry.price_per_hour, shares)


def shares_alone(resolved: ResolvedProblem, mps: MpsType, rule: TurnRule) -> list[Slots]:
    """Returns the shares and what services achieve on them alone on their GPU, by themselves too."""
    return _shares(resolved, mps, rule, at_best(resolved, mps, 1).alone_rps, lambda _, alone: alone.latency_ms)


@dataclass(frozen=True, eq=False)
class SharesIn:
    """Shares of 1, 2, ... units in some surroundings."""

    slots: list[Slots]
    batch: Ints
    """Shape (unit, service): of services that have a share for themselves, back to back."""


def shares_in(resolved: ResolvedProblem, mps: MpsType, rule: TurnRule, around: Surroundings) -> SharesIn:
    """
    Returns the shares and what services achieve on them in surroundings, in rounds and back to back.

    What all of a GPU ask for is taken to be asked in proportion to shares: of the others so much of it as is left. Back
    to back by the rule of execution alone, as of a percentile nothing is promised so on a GPU with rounds.
    """
    units, first = mps.shares, mps.least_units - 1
    percent, left = mps.percent(units), 1 - units / mps.capacity_units
    shares = np.where(left > 0, 1 + np.ceil((around.shares - 1) * left), 1).astype(np.int64)
    alone_rps = np.zeros((mps.capacity_units, len(resolved.required_rps)))
    batch = np.ones(alone_rps.shape, dtype=np.int64)
    latencies: dict[int, Floats] = {}
    for rows, alone in each_kind(mps):
        at = rows[:1, None], alone.batch[:, None], percent[None]
        own = mps.model.demands_at(at[0], mps.model.ability_rps(*at))
        totals = tuple(one + total * left for total, one in zip(around.totals, own, strict=True))
        latency, throughput = mps.model.among(*at, totals=totals, residents=shares)
        latencies[int(rows[0])] = latency
        for k in range(units.size) if mps.promise is None else ():
            in_time = latency[:, k] <= resolved.limit_ms[rows, None]
            carried = np.where(in_time, throughput[:, k], 0.0)
            sizes = alone.batch[carried.argmax(axis=1)]
            alone_rps[first + k, rows], batch[first + k, rows] = carried.max(axis=1), sizes
    return SharesIn(_shares(resolved, mps, rule, alone_rps, lambda w, _: latencies[w]), batch)


def _shares(
    resolved: ResolvedProblem, mps: MpsType, rule: TurnRule, alone_rps: Floats, latency_ms: Latency
) -> list[Slots]:
    nothing: tuple[Ints, Floats, Floats] = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    points = [[nothing] * len(resolved.required_rps) for _ in range(mps.capacity_units)]
    for rows, alone in each_kind(mps):
        slowed = latency_ms(int(rows[0]), alone)
        for w in rows.tolist():
            memory = np.full(alone.batch.shape, mps.demand_mib[w])
            for k, units in enumerate(mps.shares.tolist()):
                points[units - 1][w] = alone.batch, slowed[:, k], memory
    return [
        slots_of(
            mps.gpu,
            f"{mps.percent_of(k + 1):g} %",
            points[k],
            alone_rps=alone_rps[k],
            rate_rps=resolved.required_rps,
            rule=rule,
            capacity_mib=mps.memory_mib,
        )
        for k in range(mps.capacity_units)
    ]
