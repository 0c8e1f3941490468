"""
What residents carry of rates by a rule of requests that wait: each service a rate of its own at each time of a batch.

The rule (latency_rules/rule.py) says the greatest rate c(b, T) at which batches of b that take T keep a service's
promise. It never rises with T, and T in a box is a lower limit (resident_points.py): so what a resident is counted to
carry here is no less than it does. All of the rate is carried up to a time that the rule says as well (`longest_ms`).
Beyond it c is asked for at each resident's time, or, where they are many, at times in a row, of which a resident takes
the last one before its own: again no less.

Where what the weights are multiplied by (1) never falls with the units of a share, of the residents of a box and batch
size that carry no more than one with fewer units none is ever needed, whatever the weights, none of which is below 0.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...performance.interference.beside_neighbours import Promise
from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.execution import within
from ...performance.latency_rules.rule import TOLERANCE
from ...performance.operating_points import OperatingPoints
from .resident_points import ResidentPoints
from .staircases import NO_STEPS, Staircase, cheapest

TIMES = 192
"""Times in the row, of each batch size: where the last is four times the first, apart by less than 1 %."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Residents that a service may have, those that carry most first; arrays have shape (candidate,)."""

    point: Ints
    """Which of the flattened points of the service's kind."""
    rate_rps: Floats
    """What it carries, of the service's rate at most."""


@dataclass(frozen=True)
class PromisedOrder:
    """Services of one kind with their candidates, as `staircases.InOrder`."""

    candidates: Iterable[Candidates]
    """Of each service in turn."""

    def staircases(self, cost: Floats) -> Iterator[tuple[int, Staircase]]:
        """As `InOrder.staircases`."""
        for service, own in enumerate(self.candidates):
            if not own.point.size:
                yield service, NO_STEPS
                continue
            own_cost = cost[own.point]
            rising = cheapest(np.arange(own_cost.size), own_cost)[::-1]
            rate = own.rate_rps[rising]
            rising = rising[np.append(True, rate[1:] > rate[:-1])]
            yield service, Staircase(own.rate_rps[rising], own_cost[rising], own.point[rising])


def slowest_ms(promise: Promise, batch: Ints, rate_rps: Floats) -> Floats:
    """
    Returns the longest times of a batch with which one resident carries so much of each service's rate.

    Shape (service, batch size). `promise`: what just these services ask; `rate_rps` has shape (service,).
    """
    return promise.rule.longest_ms(batch, rate_rps[:, None], promise.asked.of_each_point)


def candidates(points: ResidentPoints, promise: Promise, limit_ms: Floats, rate_rps: Floats) -> Iterator[Candidates]:
    """
    Yields for each service of a kind what residents it may have.

    Parameters
    ----------
    promise
        What just these services ask, in their order.
    limit_ms, rate_rps
        Shape (service,).
    """
    time_ms, rises = points.time_ms, points.rises
    slowest = slowest_ms(promise, points.batch, rate_rps)
    for service, (limit, rate) in enumerate(zip(limit_ms.tolist(), rate_rps.tolist(), strict=True)):
        allowed = within(points.latency_ms, limit)
        whole = allowed & (time_ms <= slowest[service][:, None] * (1 + TOLERANCE))
        own = promise.of([service])
        carried = np.where(whole, rate, np.minimum(_carried(own, points.batch, time_ms, allowed & ~whole), rate))
        useful = carried > 0
        if rises:
            useful[..., 1:] &= carried[..., 1:] > np.maximum.accumulate(carried, axis=2)[..., :-1]
        point = np.flatnonzero(useful)
        rates = carried.ravel()[point]
        order = np.argsort(-rates, kind="stable")
        yield Candidates(point[order], rates[order])


def _carried(promise: Promise, batch: Ints, time_ms: Floats, asked: np.ndarray) -> Floats:
    """
    Returns what residents carry of one service's rate at most, where it is asked for, else 0.

    Parameters
    ----------
    batch
        Shape (batch size,).
    time_ms, asked
        Shape (box, batch size, units).
    """
    found = np.zeros(time_ms.shape)
    box, place, units = np.nonzero(asked)
    if box.size <= TIMES * batch.size:
        found[box, place, units] = _greatest_rps(promise, batch[place], time_ms[box, place, units])
        return found
    for b in np.unique(place).tolist():
        here = asked[:, b]
        times = time_ms[:, b][here]
        row = np.geomspace(times.min(), times.max(), TIMES)
        carried = _greatest_rps(promise, np.full(TIMES, batch[b]), row)
        # The first is the least of the times themselves, so each has one before it.
        found[:, b][here] = carried[np.searchsorted(row, times, side="right") - 1]
    return found


def _greatest_rps(promise: Promise, batch: Ints, time_ms: Floats) -> Floats:
    points = OperatingPoints(
        batch, np.ones_like(batch), time_ms, 1000.0 * batch / time_ms, np.full(time_ms.shape, np.nan)
    )
    return promise.rule.greatest_rps(points, promise.asked)
