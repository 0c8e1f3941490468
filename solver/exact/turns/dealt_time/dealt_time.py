"""
How GPUs of one type are dealt to services that take turns on their shares, so that they pay much.

In every box of surroundings shares are dealt no more of a GPU's cost than it costs (occupants.py), and a service that
carries all of its rate on shares in the box takes at least

    k  =  min over batch sizes and units of  (x / y) dealt

of GPUs, with the x / y of time_needed.py at the latency there. At the least of k over all boxes, or what a service
pays where it can be elsewhere if that is less, no GPU carries more than 1 of all services (occupants.py), and of each
service all is carried: so a plan costs what all pay together or more, whatever the weights.

Each round finds better weights for a sample of the services by the points that were met (dealt_costs/weights.py,
where a point is a cover by one resident); when that brings little, the boxes that hold most are parted.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.mps_sharing import MpsType
from ...dealt_costs.boxes import Boxes, first_boxes, parted
from ...dealt_costs.weights import MetCovers, best_weights, fair
from .occupants import Occupants, Points
from .time_needed import Needs

SAMPLE = 40
"""Services of which the weights are found at most."""

FIRST_WEIGHTS = (0.7, 0.1)
"""Of units and of the number of shares; what is left is shared by the things that are."""

NEAR, BOXES_MET = 1.2, 5
"""Times what a service pays up to which its points in other boxes are met, and in how many."""

BOX, BOX_OF_PARTS, LEAST_BOX, SHORTER, WAY = 0.3, 0.1, 0.02, 0.6, 0.6
"""By how much weights may differ from the best so far, at first and when boxes were parted; which part of the way to
the program's solution they go."""

CLOSE = 0.002
"""Part of what is paid by which the program may promise more before boxes are parted."""

ROUNDS = 4
"""Rounds at the same boxes, but for the first ones: twice as many."""

PARTED = 40
"""Boxes that are parted at a time."""

MOST_BOXES = 400
"""Boxes after which none is parted any more."""

MOST_COVERS = 5_000
"""Points in the program."""


@dataclass(frozen=True, eq=False)
class _Paid:
    """What a service pays at least, and points at which it pays little."""

    least: float
    box: Ints
    """Shape (point,)."""
    features: Floats
    """What the weights are multiplied by, times the part of the time; shape (point, weight)."""


@dataclass(frozen=True, eq=False)
class _Priced:
    """Boxes, weights, and what is dealt there to shares with occupants of each kind; (box, batch size, unit)."""

    occupants: Occupants
    boxes: Boxes
    weights: Floats

    @cached_property
    def dealt(self) -> list[Floats]:
        """By kind."""
        return [self.occupants.dealt(kind, self.boxes, self.weights) for kind in self.occupants.kinds]


class DealtTime:
    """Boxes of surroundings of one GPU type, and weights in each, that become better."""

    def __init__(self, mps: MpsType, kinds: Sequence[Ints], needs: Needs) -> None:
        """Takes services by their kinds, and what they ask."""
        self._needs = needs
        self._occupants = Occupants(mps, kinds)
        shares, self._typical = _typical(self._occupants, needs)
        self._boxes = first_boxes(min(mps.capacity_units // mps.least_units, mps.clients), shares, self._typical)
        things = len(self._typical)
        weights = np.array([*FIRST_WEIGHTS, *[(1 - sum(FIRST_WEIGHTS)) / max(things, 1)] * things])
        self._weights = fair(np.tile(weights, (len(self._boxes), 1)))
        self._kind = np.full(len(needs.rate_rps), -1, dtype=np.int64)
        for k, own in enumerate(kinds):
            self._kind[own] = k
        self._sample, self._number = _sample(kinds, needs)
        self._times: list[Floats] | None = None
        self._met: MetCovers | None = None
        self._used = np.zeros(len(self._boxes))

    def run(self, enough: Floats, deadline: float) -> bool:
        """
        Finds better weights, and parts boxes once, until `deadline`, as time.monotonic() has it.

        Tells whether boxes may be parted once more.

        `enough`: what services pay elsewhere, in GPUs of the type, shape (service,); inf: they can be nowhere else.
        """
        first, times = self._times is None, self._parted() if self._times else self._times_of(self._boxes)
        if times is None:
            return False
        self._times = times
        box = BOX if first else BOX_OF_PARTS
        centre, best = self._weights, -1.0
        number, enough = self._number, enough[self._sample]
        for _ in range(2 * ROUNDS if first else ROUNDS):
            priced = _Priced(self._occupants, self._boxes, self._weights)
            paid = [self._paid(w, priced, own) for w, own in zip(self._sample.tolist(), times, strict=True)]
            worth = float(number @ np.minimum([one.least for one in paid], enough))
            if worth > best:
                best, centre = worth, self._weights
            else:
                box = max(box * SHORTER, LEAST_BOX)
            self._meet(paid)
            if time.monotonic() > deadline or self._met is None:
                break
            found = best_weights(self._met, number, enough, centre, box, deadline - time.monotonic())
            if found is None:
                break
            self._used = found.used
            if float(number @ found.most) < best * (1 + CLOSE):
                break
            self._weights = fair(centre + WAY * (found.weights - centre))
        self._weights = centre
        return len(self._boxes) < MOST_BOXES

    def paid(self, deadline: float) -> Floats | None:
        """Returns what services pay at least, in GPUs, shape (service,), inf: they cannot; None: not in time."""
        priced = _Priced(self._occupants, self._boxes, self._weights)
        known = dict(zip(self._sample.tolist(), self._times or (), strict=False))
        found = np.full(self._kind.shape, np.inf)
        for k, kind in enumerate(self._occupants.kinds):
            points: Points | None = None
            for w in kind.services.tolist():
                if time.monotonic() > deadline:
                    return None
                if w not in known and points is None:
                    points = self._occupants.points(kind, self._boxes)
                times = known[w] if w in known else self._of_service(w, k, points)
                found[w] = self._paid(w, priced, times).least
        return found

    def _times_of(self, boxes: Boxes) -> list[Floats]:
        """Returns x / y of the sample in boxes, shape (box, batch size, unit) each."""
        points = [self._occupants.points(kind, boxes) for kind in self._occupants.kinds]
        return [self._of_service(w, int(self._kind[w]), points[self._kind[w]]) for w in self._sample.tolist()]

    def _of_service(self, service: int, kind: int, points: Points | None) -> Floats:
        assert points is not None  # for mypy
        batch = self._occupants.kinds[kind].batch[:, None]
        return self._needs.time_of(service, batch, points.latency_ms, points.throughput_rps).astype(np.float32)

    def _paid(self, service: int, priced: _Priced, times: Floats) -> _Paid:
        """Returns what a service pays at least, and points at which it pays little."""
        k, shape = int(self._kind[service]), times.shape
        with np.errstate(invalid="ignore"):
            value = (times * priced.dealt[k]).reshape(shape[0], -1)
        value = np.where(np.isnan(value), np.inf, value)
        at = value.argmin(axis=1)
        of_box = value[np.arange(shape[0]), at]
        best = float(of_box.min())
        near = np.argsort(of_box, kind="stable")[:BOXES_MET]
        near = near[of_box[near] <= best * NEAR] if np.isfinite(best) else near[:0]
        points = (near, *np.unravel_index(at[near], shape[1:]))
        rows = self._occupants.features(self._occupants.kinds[k], priced.boxes, (points[0], points[1], points[2]))
        features = np.stack(np.broadcast_arrays(*rows), axis=1) * times[points][:, None]
        return _Paid(best, near, features)

    def _meet(self, paid: Sequence[_Paid]) -> None:
        """Adds points to those that were met; drops the oldest when they are too many."""
        service = np.repeat(np.arange(len(paid)), [len(one.box) for one in paid])
        if not service.size:
            return
        box = np.concatenate([one.box for one in paid])
        features = np.concatenate([one.features for one in paid])
        met = MetCovers(service, np.arange(service.size), box, features)
        met = met if self._met is None else self._met.and_also(met)
        kept = np.arange(len(met.service)) >= len(met.service) - MOST_COVERS
        self._met = met if kept.all() else met.of(kept)

    def _parted(self) -> list[Floats] | None:
        """Parts the boxes that hold most GPUs, and returns the times of the sample in all; None: there were none."""
        fullest = np.argsort(-self._used, kind="stable")[:PARTED]
        fullest = np.sort(fullest[self._used[fullest] > 1e-6])
        boxes, of = parted(self._boxes.of(fullest), self._typical)
        if not len(boxes):
            return None
        kept = np.ones(len(self._boxes), dtype=bool)
        kept[fullest[of]] = False
        rows = np.flatnonzero(kept)
        self._weights = np.concatenate([self._weights[rows], self._weights[fullest[of]]])
        new = self._times_of(boxes)
        times = [np.concatenate([old[rows], more]) for old, more in zip(self._times or (), new, strict=True)]
        self._boxes = self._boxes.of(rows).and_also(boxes)
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        self._met = None if self._met is None else self._met.in_boxes(number)
        return times


def _sample(kinds: Sequence[Ints], needs: Needs) -> tuple[Ints, Floats]:
    """Returns some services, from all of them in order of kind and rate, and how many each stands for."""
    order = np.concatenate([own[np.argsort(needs.rate_rps[own], kind="stable")] for own in kinds])
    begins = np.unique(np.linspace(0, order.size, min(SAMPLE, order.size), endpoint=False).astype(np.int64))
    return order[begins], np.diff(np.append(begins, order.size)).astype(np.float64)


def _typical(occupants: Occupants, needs: Needs) -> tuple[float, Floats]:
    """Returns shares of a GPU, and what they ask together, were each service alone on its GPU where it takes least."""
    things = len(occupants.least)
    alone = Boxes(*(np.ones(1, dtype=np.int64),) * 2, np.zeros((1, things)), np.full((1, things), np.inf))
    gpus, shares, totals = 0.0, 0.0, np.zeros(things)
    for kind in occupants.kinds:
        points = occupants.points(kind, alone)
        for w in kind.services.tolist():
            part = needs.time_of(w, kind.batch[:, None], points.latency_ms[0], points.throughput_rps[0])
            # A little by the share: of equal units rather one share than many.
            taken = part * (occupants.units / occupants.units.size + 0.05)
            batch, unit = np.unravel_index(np.argmin(taken), taken.shape)
            if np.isfinite(part[batch, unit]):
                own = float(part[batch, unit])
                gpus += own * float(unit + 1) / occupants.units.size
                shares += own
                totals = totals + own * kind.asked[:, batch, unit]
    return (shares / gpus, totals / gpus) if gpus else (1.0, np.ones(things))
