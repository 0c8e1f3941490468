"""
How GPUs of one type are dealt to their residents, so that services are dealt much: boxes, and weights in each.

Every GPU of a plan has its surroundings in some box, and each resident is dealt a part of its cost there
(resident_points.py). So a service is dealt at least what its cheapest cover by residents costs, each in whichever box
it costs least (staircases.py, resident_covers.py), and what all services are dealt is no more than the GPUs cost: a
bound, whatever the weights. Each round finds better weights for a sample of the services by the covers that were met
(weights.py); when that brings little, the boxes that hold most are parted, which loses nothing: either part's lower
corner is no lower than the box's, its upper one no higher, and its weights are the same at first.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from .asking import Asking, carrying
from .boxes import Boxes, first_boxes, parted
from .promised_rates import PromisedOrder, candidates
from .resident_covers import LEVELS, ResidentCovers, resident_covers
from .resident_points import ResidentPoints, dealt, demands_of, joined, resident_points
from .staircases import NO_STEPS, InOrder, in_order
from .weights import MetCovers, best_weights, fair

SAMPLE = 80
"""Services of which the weights are found at most."""

FIRST_WEIGHTS = (0.7, 0.1)
"""Of units and of the number of residents; what is left is shared by the things that are."""

PARTS = 3
"""Equal parts of a rate up to which covers in each box are looked at by themselves."""

NEAR = 1.2
"""Times what a service is dealt up to which its covers in other boxes join at first."""

OF_ALL, OF_EACH, FEWEST = 480, 12, 6
"""Covers in other boxes that join at a time: of all services of the sample about so many, and of each at most and at
least."""

BOX, LEAST_BOX, SHORTER, WAY = 0.3, 0.03, 0.75, 0.6
"""By how much weights may differ from the best so far; which part of the way to the program's solution they go."""

BOX_OF_PARTS = 0.1
"""The same when boxes were parted."""

CLOSE = 0.003
"""Part of what is dealt by which the program may promise more before boxes are parted."""

ROUNDS = 6
"""Rounds at the same boxes, but for the first ones: twice as many."""

PARTED = 30
"""Boxes that are parted at a time."""

MOST_COVERS = 5_000
"""Covers in the program."""

MOST_POINTS = 3_000_000
"""Points of residents, of all kinds and boxes, after which no box is parted any more."""


@dataclass(frozen=True, eq=False)
class Deal:
    """Boxes and weights, and what residents of each kind may be there."""

    boxes: Boxes
    weights: Floats
    """Shape (box, weight)."""
    points: list[ResidentPoints]
    """By kind."""

    @cached_property
    def costs(self) -> list[Floats]:
        """What is dealt to the flattened points of each kind, in GPUs."""
        return [dealt(points, self.weights).ravel() for points in self.points]

    def covers(self, asking: Asking, order: Sequence[tuple[Ints, InOrder | PromisedOrder]]) -> ResidentCovers:
        """Returns the cheapest covers of services; `order`: of each kind which services are of it, and its points."""
        steps = [NO_STEPS] * len(asking.workload)
        for cost, (own, points) in zip(self.costs, order, strict=True):
            for place, found in points.staircases(cost):
                steps[int(own[place])] = found
        return resident_covers(steps, asking.rate_rps, asking.whole)

    def order(self, asking: Asking, kind: Ints, *, again: bool = True) -> list[tuple[Ints, InOrder | PromisedOrder]]:
        """
        Returns the services of each kind, and its points in the order in which they take them.

        Parameters
        ----------
        kind
            Of each service.
        again
            Whether they are asked for more than once.
        """
        found: list[tuple[Ints, InOrder | PromisedOrder]] = []
        for k, points in enumerate(self.points):
            own = np.flatnonzero(kind == k)
            limit, rate = asking.limit_ms[own], asking.rate_rps[own]
            if asking.promise is None:
                found.append((own, in_order(points.latency_ms, points.throughput_rps, limit)))
                continue
            each = candidates(points, asking.promise.of(own), limit, rate)
            found.append((own, PromisedOrder(list(each) if again else each)))
        return found


class DealSearch:
    """Boxes and weights that become better."""

    def __init__(self, mps: MpsType, asking: Asking) -> None:
        self._mps, self._asking = mps, asking
        kind = mps.kind[asking.workload]
        self._kind_of = np.unique(kind, return_inverse=True)[1]
        self._first_of = [int(asking.workload[np.argmax(self._kind_of == k)]) for k in range(self._kind_of.max() + 1)]
        self._sampled = _sample(len(asking.workload))
        self._sample_kinds = self._kind_of[self._sampled]
        number = np.add.reduceat(asking.number, self._sampled)
        self._sample = replace(asking.of(self._sampled), number=number)
        residents, self._typical = typical(mps, asking, self._kind_of, self._first_of)
        boxes = first_boxes(min(mps.capacity_units // mps.least_units, mps.clients), residents, self._typical)
        things = len(self._typical)
        weights = np.array([*FIRST_WEIGHTS, *[(1 - sum(FIRST_WEIGHTS)) / max(things, 1)] * things])
        points = [resident_points(mps, w, boxes) for w in self._first_of]
        self.deal = Deal(boxes, fair(np.tile(weights, (len(boxes), 1))), points)
        self._near = self._equal_parts(points)
        self._met: MetCovers | None = None
        self._most: Floats | None = None
        self._used = np.zeros(len(boxes))

    def covers(self) -> ResidentCovers:
        """Returns the cheapest covers of all services."""
        return self.deal.covers(self._asking, self.deal.order(self._asking, self._kind_of, again=False))

    def run(self, deadline: float) -> None:
        """Finds better weights, and parts boxes once, until `deadline`, as time.monotonic() has it."""
        first = self._met is None
        if not first and not self._part():
            return
        box = BOX if first else BOX_OF_PARTS
        centre, best = self.deal.weights, -1.0
        order = self.deal.order(self._sample, self._sample_kinds)
        for _ in range(2 * ROUNDS if first else ROUNDS):
            covers = self.deal.covers(self._sample, order)
            worth = float(self._sample.number @ np.minimum(covers.cost[:, LEVELS], self._sample.enough))
            if worth > best:
                box = max(box * SHORTER, LEAST_BOX) if worth < best * (1 + CLOSE) else box
                best, centre = worth, self.deal.weights
            else:
                box = max(box * SHORTER, LEAST_BOX)
            self._meet(covers)
            if time.monotonic() > deadline or self._met is None:
                break
            found = best_weights(
                self._met, self._sample.number, self._sample.enough, centre, box, deadline - time.monotonic()
            )
            if found is None:
                break
            self._most, self._used = found.most, found.used
            if float(self._sample.number @ found.most) < best * (1 + CLOSE):
                break
            self.deal = replace(self.deal, weights=fair(centre + WAY * (found.weights - centre)))
            self._drop(found.weights, found.most)
        self.deal = replace(self.deal, weights=centre)

    @property
    def can_part(self) -> bool:
        """Whether there is room for more boxes."""
        return sum(points.latency_ms.size for points in self.deal.points) < MOST_POINTS

    def _equal_parts(self, points: Sequence[ResidentPoints]) -> list[Ints]:
        """Returns for each service of the sample the points of fewest units for equal parts: (part, box, batch)."""
        found: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(self._sample_kinds)
        for k, own in enumerate(points):
            boxes, batches, units = own.latency_ms.shape
            begin = (np.arange(boxes)[:, None] * batches + np.arange(batches)) * units
            rows = np.flatnonzero(self._sample_kinds == k)
            if not rows.size:
                continue
            best: list[list[Ints]] = [[] for _ in rows]
            for parts in range(1, PARTS + 1):
                for of_row, enough in zip(best, carrying(own, self._sample.of(rows), parts), strict=True):
                    of_row.append(np.where(enough.any(axis=2), begin + enough.argmax(axis=2), -1))
            for row, of_row in zip(rows.tolist(), best, strict=True):
                found[row] = np.stack(of_row[:1] if self._sample.whole[row] else of_row)
        return found

    def _meet(self, covers: ResidentCovers) -> None:
        """Adds covers: the cheapest of each service of the sample, and in each box those that are near."""
        of_each = min(max(OF_ALL // len(self._sample_kinds), FEWEST), OF_EACH)
        service: list[int] = []
        box: list[int] = []
        of_cover: list[int] = []
        features: list[Floats] = []
        for w, kind in enumerate(self._sample_kinds.tolist()):
            points, cost = self.deal.points[kind], self.deal.costs[kind]
            _, batches, units = points.latency_ms.shape
            of_point = points.features.reshape(-1, points.features.shape[-1])
            limit = covers.cost[w, LEVELS] * NEAR if self._most is None else max(self._most[w], covers.cost[w, LEVELS])
            new = [(point, float(covers.times[w])) for point in covers.points[w].tolist()]
            groups = [new] if new else []
            near = self._near[w]
            by_batch = np.where(near >= 0, cost[near], np.inf) * np.arange(1, len(near) + 1)[:, None, None]
            batch = by_batch.argmin(axis=2)
            least = np.take_along_axis(by_batch, batch[..., None], axis=2)[..., 0]
            for at in np.argsort(least, axis=None, kind="stable")[:of_each].tolist():
                parts, of_box = divmod(at, least.shape[1])
                if not least[parts, of_box] < limit:
                    break
                groups.append([(int(near[parts, of_box, batch[parts, of_box]]), parts + 1.0)])
            for group in groups:
                for point, times in group:
                    of_cover.append(len(service))
                    box.append(point // (batches * units))
                    features.append(of_point[point] * times)
                service.append(w)
        if not service:
            return
        met = MetCovers(np.array(service), np.array(of_cover), np.array(box), np.array(features))
        self._met = met if self._met is None else self._met.and_also(met)

    def _drop(self, weights: Floats, most: Floats) -> None:
        """Drops covers when they are too many: those that are dealt most above what their services are."""
        met = self._met
        if met is None or len(met.service) <= MOST_COVERS:
            return
        above = met.dealt(weights) / np.maximum(most[met.service], 1e-12)
        self._met = met.of(above <= np.partition(above, MOST_COVERS)[MOST_COVERS])

    def _part(self) -> bool:
        """Parts the boxes that hold most GPUs; tells whether there were any."""
        fullest = np.argsort(-self._used, kind="stable")[:PARTED]
        fullest = np.sort(fullest[self._used[fullest] > 1e-6])
        boxes, of = parted(self.deal.boxes.of(fullest), self._typical)
        if not len(boxes):
            return False
        old = self.deal
        kept = np.ones(len(old.boxes), dtype=bool)
        kept[fullest[of]] = False
        rows = np.flatnonzero(kept)
        new = [resident_points(self._mps, w, boxes) for w in self._first_of]
        weights = np.concatenate([old.weights[rows], old.weights[fullest[of]]])
        self.deal = Deal(old.boxes.of(rows).and_also(boxes), weights, joined(old.points, rows, new))
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        self._met = None if self._met is None else self._met.in_boxes(number)
        self._near = self._equal_parts(self.deal.points)
        self._most = None
        return True


def _sample(count: int) -> Ints:
    """Returns services from all of them in order, each for itself and those up to the next."""
    if count <= SAMPLE:
        return np.arange(count)
    return np.unique(np.linspace(0, count, SAMPLE, endpoint=False).astype(np.int64))


def typical(mps: MpsType, asking: Asking, kind: Ints, first_of: Sequence[int]) -> tuple[float, Floats]:
    """Returns residents of a GPU, and what they ask together, were each service alone at its fewest units and whole."""
    alone = Boxes(*(np.ones(1, dtype=np.int64),) * 2, *_everything(mps, first_of[0]))
    units, count, totals = 0.0, 0.0, np.zeros(len(demands_of(mps, first_of[0])))
    for k, workload in enumerate(first_of):
        points, asked = resident_points(mps, workload, alone), demands_of(mps, workload)
        rows = np.flatnonzero(kind == k)
        for row, fits in zip(rows.tolist(), carrying(points, asking.of(rows)), strict=True):
            fewest = np.where(fits[0].any(axis=1), fits[0].argmax(axis=1), mps.capacity_units)
            batch = int(np.argmin(fewest))
            if fewest[batch] < mps.capacity_units:
                number = float(asking.number[row])
                units += number * (fewest[batch] + 1.0)
                totals = totals + number * asked[:, batch, fewest[batch]]
                count += number
    if not count:
        return 1.0, np.ones_like(totals)
    gpus = units / mps.capacity_units
    return count / gpus, totals / gpus


def _everything(mps: MpsType, workload: int) -> tuple[Floats, Floats]:
    things = len(demands_of(mps, workload))
    return np.zeros((1, things)), np.full((1, things), np.inf)
