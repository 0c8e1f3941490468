"""
Whether one GPU under MPS could hold all services, in whatever residents they are split: proven not, box by box.

All residents of one GPU have the same surroundings, so they are in one box together (boxes.py). With any weights they
are dealt no more there than the GPU (resident_points.py, lemma 1). Residents that carry the parts t_j of the rate of a
service, 1 or more together, are dealt sum c_j = sum t_j (c_j / t_j), so no less than

    F = min over the residents that the box allows of  c / t,    t = min(what it carries / the rate, 1)              (1)

and a service that may not be split has one resident, with t = 1. So where the F of all services sum to more than 1, at
some weights, no GPU with surroundings in the box holds them. Boxes cover all surroundings; one that is not ruled out
is parted, until none is left: then no GPU of the type holds all, and a plan takes two GPUs or more. Which weights are
tried matters for what is proven, not for whether it holds.
"""

import time
from collections.abc import Sequence

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.execution import within
from ...performance.mps_sharing import MpsType
from .asking import Asking
from .boxes import first_boxes, parted
from .deal import typical
from .promised_rates import candidates
from .resident_points import ResidentPoints, dealt, resident_points

MORE = 1 + 1e-6
"""GPUs beyond which services cost more than one, against rounding in sums."""

MISSING = 1e-9
"""Part of a rate that may be missing, by rounding alone."""

MOST_BOXES = 1_000
"""Boxes that are looked at together at most."""


def holds_not_all(mps: MpsType, asking: Asking, deadline: float) -> bool:
    """
    Tells whether it is proven that no GPU of a type holds all services.

    Parameters
    ----------
    asking
        All of the services, each of which residents of the type carry.
    deadline
        As time.monotonic() has it.
    """
    kind = np.unique(mps.kind[asking.workload], return_inverse=True)[1]
    first_of = [int(asking.workload[np.argmax(kind == k)]) for k in range(int(kind.max()) + 1)]
    residents, asked = typical(mps, asking, kind, first_of)
    boxes = first_boxes(min(mps.capacity_units // mps.least_units, mps.clients), residents, asked)
    while len(boxes) <= MOST_BOXES and time.monotonic() <= deadline:
        points = [resident_points(mps, workload, boxes) for workload in first_of]
        left = np.flatnonzero(~_too_much(points, asking, kind))
        if not left.size:
            return True
        boxes, _ = parted(boxes.of(left), asked)
        if len(boxes) < 2 * len(left):
            return False  # one is as narrow as can be
    return False


def _weights(number: int) -> list[Floats]:
    """Returns weights to try: all on one thing, halves on units and another, or equal ones on all but the number."""
    each = np.eye(number)
    even = np.full(number, 1 / (number - 1))
    even[1] = 0.0
    return [*each, *((each[0] + one) / 2 for one in each[1:]), even]


def _too_much(points: Sequence[ResidentPoints], asking: Asking, kind: Ints) -> np.ndarray:
    """Returns in which boxes all services are dealt more than a GPU, shape (box,)."""
    weights = _weights(points[0].features.shape[-1])
    boxes = len(points[0].latency_ms)
    total = np.zeros((len(weights), boxes))
    for k, own in enumerate(points):
        rows = np.flatnonzero(kind == k)
        costs = [dealt(own, np.tile(one, (boxes, 1))) for one in weights]
        for row, carried in zip(rows.tolist(), _carried(own, asking.of(rows)), strict=True):
            part = np.minimum(carried / asking.rate_rps[row], 1.0)
            here = part > (1 - MISSING if asking.whole[row] else 0.0)
            some = np.where(here, part, 1.0)
            for turn, cost in enumerate(costs):
                total[turn] += asking.number[row] * np.where(here, cost / some, np.inf).min(axis=(1, 2))
    return np.asarray((total > MORE).any(axis=0))


def _carried(points: ResidentPoints, asking: Asking) -> list[Floats]:
    """Returns what each resident carries of each service, all of the kind: (box, batch size, units) each."""
    if asking.promise is None:
        return [
            np.where(within(points.latency_ms, limit), points.throughput_rps, 0.0) for limit in asking.limit_ms.tolist()
        ]
    found = []
    for own in candidates(points, asking.promise, asking.limit_ms, asking.rate_rps):
        carried = np.zeros(points.latency_ms.shape)
        carried.ravel()[own.point] = own.rate_rps
        found.append(carried)
    return found
