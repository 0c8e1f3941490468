"""
The cheapest resident that carries at least a part of a rate, for each part: a staircase, by what is dealt to it.

Workloads of a kind differ in their latency limits and rates alone. In order of their limits, each may be what those
before it may be and some more, so its staircase is the last one's with the new points. Nothing is left out: a point
that is not on the staircase has one beside it that carries no less and costs no more.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.execution import within
from ...performance.latency_rules.rule import TOLERANCE


@dataclass(frozen=True, eq=False)
class Staircase:
    """Steps, rising in both; arrays have shape (step,)."""

    rate_rps: Floats
    cost: Floats
    """In GPUs."""
    point: Ints
    """Which of the flattened points."""


NO_STEPS = Staircase(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class InOrder:
    """Points of one kind of resident in the order in which staircases take them, whatever they cost."""

    rate_rps: Floats
    """Of the flattened points, shape (point,)."""
    workload: Ints
    """Workloads in order of their limits, shape (workload,)."""
    point: Ints
    """For each workload in turn, those that it may be and none before may, the fastest first; all in one."""
    begins: Ints
    """Where those of each begin, and the end; shape (workload + 1,)."""

    def staircases(self, cost: Floats) -> Iterator[tuple[int, Staircase]]:
        """Yields the number of each workload and its staircase; `cost` of the flattened points, shape (point,)."""
        steps = np.zeros(0, dtype=np.int64)
        for workload, begin, end in zip(
            self.workload.tolist(), self.begins[:-1].tolist(), self.begins[1:].tolist(), strict=True
        ):
            if end > begin:
                new = cheapest(self.point[begin:end], cost)
                both = np.concatenate([steps, new])
                steps = cheapest(both[np.lexsort((cost[both], -self.rate_rps[both]))], cost)
            rising = steps[::-1]
            yield workload, Staircase(self.rate_rps[rising], cost[rising], rising)


def in_order(latency_ms: Floats, rate_rps: Floats, limit_ms: Floats) -> InOrder:
    """
    Returns the points of one kind in order.

    Parameters
    ----------
    latency_ms, rate_rps
        Of any one shape.
    limit_ms
        Shape (workload,).
    """
    latency, rate = latency_ms.ravel(), rate_rps.ravel()
    order = np.argsort(limit_ms, kind="stable")
    here = np.flatnonzero((rate > 0) & within(latency, float(limit_ms.max(initial=0.0))))
    # The first limit that a point is within, as `within` compares.
    first = np.searchsorted(limit_ms[order] * (1 + TOLERANCE), latency[here])
    by_first = np.lexsort((-rate[here], first))
    begins = np.searchsorted(first[by_first], np.arange(len(order) + 1))
    return InOrder(rate, order, here[by_first], begins)


def cheapest(points: Ints, cost: Floats) -> Ints:
    """Returns those of points, the fastest first, that cost less than all before them."""
    own = cost[points]
    least = np.minimum.accumulate(own)
    kept = np.append(True, own[1:] < least[:-1])
    return np.asarray(points[kept])
