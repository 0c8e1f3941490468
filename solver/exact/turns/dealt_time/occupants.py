"""
What GPUs with turns carry at most, by GPUs without: each share has one occupant, and their surroundings are in a box.

An occupant is a service in a round on a share of a GPU under MPS, with a batch size b, or alone there. It takes the
part x of the share's time, and those of a share sum to 1 at most; it carries the part y of its service's rate, and x
/ y is no less than time_needed.py says at its latency.

Lemma. Let prices p be such that on any GPU whose shares have one occupant each

    sum_j p_j / tau_j  <=  1,                                                                                    (1)

tau_j the least x / y at the latency of occupant j beside just these others. Then with turns, too, the sum of p y over
all occupants of a GPU is 1 at most.

Proof. Let one occupant of each share be drawn, each share for itself: occupant o with probability x_o, or more where
the x of a share sum to less than 1. The latency of o in the plan is the longest of all choices, so no less than
beside those that are drawn with it. Its least x / y rises with the latency, so y_o <= x_o / tau_o with the tau of any
draw that it is in, and p_o y_o is at most x_o times the mean of p_o / tau_o over these draws. Summed over all
occupants that is at most the mean of (1) over all draws. Who asks most does not matter, nor that draws differ in
their surroundings.

The surroundings of a draw are the number n of shares and what the occupants ask together of each thing shared, M_c. A
box says n- <= n <= n+ and M- <= M <= M+ (dealt_costs/boxes.py). In it an occupant of u units that asks a has n- - 1
others at least, who ask `least` each or more, which is what any service asks at least on any share. So its latency is
no less than `among` says of n- residents who ask max(M-, a + (n- - 1) least) together, and its throughput no more, as
of lower limits of totals and number `among` gives these (`MonotoneModel`). Its share is dealt, of its GPU's cost,

    alpha u/U + gamma/n+ + sum_c beta_c a_c/M+_c,        alpha + gamma + sum beta <= 1, none below 0

so that the shares of a GPU are dealt no more than it costs: their units are U at most, they are n+ at most, and what
is asked sums to M+_c at most. Where M+_c has no end, nothing is dealt by it. So (1) holds if in every box, at every b
and u, p is no more than tau times what is dealt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.mps_sharing import MpsType
from ...dealt_costs.boxes import Boxes
from ...dealt_costs.resident_points import demands_of

ROUNDING = 1 + 1e-9
"""By how much what occupants ask may pass the end of a range, by rounding alone."""


@dataclass(frozen=True, eq=False)
class Kind:
    """Services that a GPU type cannot tell apart."""

    first: int
    """One of them."""
    services: Ints
    batch: Ints
    """Shape (batch size,)."""
    asked: Floats
    """a, shape (thing shared, batch size, unit)."""


@dataclass(frozen=True, eq=False)
class Points:
    """How fast occupants of a kind are in boxes at least; shape (box, batch size, unit)."""

    latency_ms: Floats
    """inf: it cannot be in the box."""
    throughput_rps: Floats


class Occupants:
    """Occupants of the shares of a GPU type."""

    def __init__(self, mps: MpsType, kinds: Sequence[Ints]) -> None:
        """Takes services by their kinds."""
        self.mps, self.units = mps, np.arange(1, mps.capacity_units + 1)
        self.kinds = [Kind(int(own[0]), own, mps.batches[int(own[0])], demands_of(mps, int(own[0]))) for own in kinds]
        here = slice(mps.least_units - 1, None)
        self.least: Floats = np.min([one.asked[:, :, here].min(axis=(1, 2)) for one in self.kinds], axis=0)
        """What any service asks at least on any share, shape (thing shared,)."""

    def points(self, kind: Kind, boxes: Boxes) -> Points:
        """Returns how fast occupants of a kind are in boxes."""
        mps, (batches, units) = self.mps, kind.asked.shape[1:]
        box, batch, unit = np.meshgrid(
            np.arange(len(boxes)), np.arange(batches), np.arange(units), indexing="ij", sparse=True
        )
        fewest = boxes.fewest[box]
        others = (fewest - 1) * self.least.reshape(-1, 1, 1, 1)
        begins, ends = (np.moveaxis(one[box], -1, 0) for one in (boxes.low, boxes.high))
        asked = kind.asked[:, None]
        latency, throughput = mps.model.among(
            np.array(kind.first),
            kind.batch[batch],
            mps.percent(unit + 1),
            totals=tuple(np.maximum(begins, asked + others)),
            residents=fewest,
        )
        there = (unit + 1 >= mps.least_units) & (unit + 1 <= mps.capacity_units - (fewest - 1) * mps.least_units)
        there = there & (asked + others <= ends * ROUNDING).all(axis=0)
        # One share alone asks all that is asked.
        there = there & ((boxes.most[box] > 1) | (asked * ROUNDING >= begins).all(axis=0))
        return Points(np.where(there, latency, np.inf), np.where(there, throughput, 0.0))

    def dealt(self, kind: Kind, boxes: Boxes, weights: Floats) -> Floats:
        """Returns which parts of its GPU's cost shares are dealt, (box, batch size, unit); `weights`: (box, weight)."""
        batches, units = kind.asked.shape[1:]
        at = np.meshgrid(np.arange(len(boxes)), np.arange(batches), np.arange(units), indexing="ij", sparse=True)
        own = weights[at[0]]
        return np.asarray(
            sum(one * own[..., i] for i, one in enumerate(self.features(kind, boxes, (at[0], at[1], at[2]))))
        )

    def features(self, kind: Kind, boxes: Boxes, at: tuple[Ints, Ints, Ints]) -> list[Floats]:
        """Returns what the weights are multiplied by, one by one; `at`: boxes, batch sizes, units by their indices."""
        box, batch, unit = at
        ends = np.moveaxis(boxes.high[box], -1, 0)
        limited = np.isfinite(ends) & (ends > 0)
        asked = np.where(limited, kind.asked[:, batch, unit] / np.where(limited, ends, 1.0), 0.0)
        return [(unit + 1) / self.units.size, 1 / boxes.most[box], *asked]
