"""What rules of queues have in common: batches of one time, and the point that carries most."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..interference.prediction import Floats, Ints
from ..operating_points import OperatingPoints, joined
from .rule import TOLERANCE, Asked, Group

LIKELY_SLACKS = (1.1, 1.4)
"""Times the SLO over T that points need; from there on the one with the greatest throughput is likely to carry much."""

AT_ONCE = 1 << 19
"""Pairs of a workload and a point that are looked at together."""


def batch_time_ms(points: OperatingPoints) -> Floats:
    """
    Returns the time that every batch of a point is counted to take, shape (point,).

    The latency of its largest batch, or what its throughput says where that is longer: published latencies are rounded.
    """
    return np.maximum(points.latency_ms, 1000.0 * points.batch * points.processes / points.capacity_rps)


def twice(points: OperatingPoints) -> Floats:
    """Returns the SLO over T that points need whose requests wait for one batch and are executed in the next."""
    return np.full(points.batch.shape, 2.0)


def most_carried(
    groups: Sequence[Group],
    greatest_rps: Callable[[OperatingPoints, Asked], Floats],
    most: float,
    least_slack: Callable[[OperatingPoints], Floats] = twice,
) -> list[tuple[Ints, Floats]]:
    """
    Returns the point that carries most for each workload, and how much, as `LatencyRule.best_of`.

    No point carries more than `most` of its throughput: those of which that is less than what a likely one carries are
    not looked at, which leaves about a tenth. Nor are those with an SLO of less than `least_slack` times T, shape
    (point,), which carry nothing.
    """
    found = [(np.full(asked.slo_ms.shape, -1, dtype=np.int64), np.zeros(asked.slo_ms.shape)) for _, asked in groups]
    for parts in _in_parts(groups, least_slack):
        likely = [part.likely() for part in parts]
        at_least = _of_all(parts, likely, greatest_rps)
        worth = [
            part.may_carry(rps.reshape(len(LIKELY_SLACKS), -1).max(axis=0), most)
            for part, rps in zip(parts, at_least, strict=True)
        ]
        for part, pairs, rps in zip(parts, worth, _of_all(parts, worth, greatest_rps), strict=True):
            best, carried = found[part.group]
            best[part.rows], carried[part.rows] = part.best(pairs, rps)
    return found


Pairs = tuple[Ints, Ints]
"""Workloads of a part and for each the place of a point in its order; where the best is sought both ascend."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Some workloads of a group, and the points that are quick enough for any of them."""

    group: int
    rows: Ints
    asked: Asked
    points: OperatingPoints
    order: Ints
    """Shape (place,): points in the order in which the first of equal ones wins."""
    full_rps: Floats
    """Throughput of full batches."""
    least_slo_ms: Floats
    """The SLO from which on a point may carry something. All of shape (place,)."""

    def likely(self) -> Pairs:
        """
        Returns for each workload the points with most throughput of those with little and much room.

        They are likely to carry much; all with little room come before those with much.
        """
        by_slo = np.argsort(self.least_slo_ms, kind="stable")
        full_rps = self.full_rps[by_slo]
        best_so_far = np.maximum.accumulate(
            np.where(full_rps >= np.maximum.accumulate(full_rps), np.arange(by_slo.size), 0)
        )
        roomy_ms = np.concatenate([self.asked.slo_ms / slack for slack in LIKELY_SLACKS])
        quick = np.searchsorted(self.least_slo_ms[by_slo], roomy_ms, side="right")
        rows = np.tile(np.arange(self.rows.size), len(LIKELY_SLACKS))
        return rows, by_slo[best_so_far[np.maximum(quick - 1, 0)]]

    def may_carry(self, at_least: Floats, most: float) -> Pairs:
        """Returns the points that may carry as much as another does."""
        # Most points carry too little for every workload.
        places = np.flatnonzero(most * self.full_rps >= at_least.min(initial=np.inf) * (1 - TOLERANCE))
        in_time = self.least_slo_ms[places] <= self.asked.slo_ms[:, None] * (1 + TOLERANCE)
        in_time &= most * self.full_rps[places] >= at_least[:, None] * (1 - TOLERANCE)
        row, place = np.divmod(np.flatnonzero(in_time), places.size or 1)
        return row, places[place]

    def best(self, pairs: Pairs, rps: Floats) -> tuple[Ints, Floats]:
        """Returns the point that carries most of those that were looked at, -1 where none carries anything."""
        row, place = pairs
        chosen, carried = np.full(self.rows.size, -1, dtype=np.int64), np.zeros(self.rows.size)
        begins = np.flatnonzero(np.diff(row, prepend=-1))
        if not begins.size:
            return chosen, carried
        carried[row[begins]] = np.maximum.reduceat(rps, begins)
        most = np.flatnonzero((rps == carried[row]) & (rps > 0))[::-1]
        chosen[row[most]] = self.order[place[most]]  # of several the first is written last
        return chosen, carried


def _in_parts(groups: Sequence[Group], least_slack: Callable[[OperatingPoints], Floats]) -> Iterator[list[_Part]]:
    """Yields parts of groups that are looked at together."""
    parts: list[_Part] = []
    size = 0
    for number, (points, asked) in enumerate(groups):
        time_ms = batch_time_ms(points)
        least_slo_ms = least_slack(points) * time_ms
        quick = np.flatnonzero(least_slo_ms <= asked.slo_ms.max(initial=0.0) * (1 + TOLERANCE))
        order = quick[np.lexsort((points.processes[quick], points.batch[quick], points.latency_ms[quick]))]
        if not order.size:
            continue
        full_rps = 1000.0 * (points.batch * points.processes)[order] / time_ms[order]
        step = max(AT_ONCE // order.size, 1)
        for begin in range(0, asked.slo_ms.size, step):
            rows = np.arange(begin, min(begin + step, asked.slo_ms.size))
            parts.append(_Part(number, rows, asked.of(rows), points, order, full_rps, least_slo_ms[order]))
            size += rows.size * order.size
            if size >= AT_ONCE:
                yield parts
                parts, size = [], 0
    if parts:
        yield parts


def _of_all(
    parts: Sequence[_Part], pairs: Sequence[Pairs], greatest_rps: Callable[[OperatingPoints, Asked], Floats]
) -> list[Floats]:
    """Returns what each pair of each part carries, looked up together."""
    points = joined([part.points.where(part.order[place]) for part, (_, place) in zip(parts, pairs, strict=True)])
    asked = [part.asked.of(row) for part, (row, _) in zip(parts, pairs, strict=True)]
    together = Asked(
        np.concatenate([one.slo_ms for one in asked]),
        np.concatenate([one.rate_rps for one in asked]),
        np.concatenate([one.quantile for one in asked]),
    )
    ends = np.cumsum([one.slo_ms.size for one in asked])
    return np.split(greatest_rps(points, together), ends[:-1])
