"""
What occupants of shares may be in boxes of surroundings, and which part of their GPU's cost their shares are dealt.

An occupant is a service in a round on a share of a GPU under MPS, with a batch size b, or alone there. The leader of a
share is that occupant who asks most (leaders.py). The surroundings of a GPU are the number n of its shares and what
their leaders ask together of each thing shared, M_c. A box says n- <= n <= n+ and M- <= M <= M+ (dealt_costs/boxes.py).

Lemma. Let a GPU with its surroundings in a box keep all latencies, whoever runs at once, and let an occupant of a share
of u units ask a, and the leader of its share m. Then its latency is no less than `among` says of n- residents who ask

    a + max(M- - m, (n- - 1) least)

together, where `least` is what any service asks at least on any share, and its throughput no more.

Proof. One of the choices of one occupant from each other share is that of all leaders. There n shares serve, the others
ask M - m together, which is no less than M- - m, nor than (n- - 1) least, and the occupant itself asks a. A latency is
the longest of all choices, so no less than at this one, and of lower limits of totals and number `among` gives a lower
limit of the latency and an upper one of the throughput (`MonotoneModel`). Which number of a, b and u is best does not
matter, as the lemma is of each.

A share of the box is dealt, of its GPU's cost,

    alpha u/U + gamma/n+ + sum_c beta_c m_c/M+_c,        alpha + gamma + sum beta <= 1, none below 0

so that the shares of a GPU are dealt no more than it costs: their units are U at most, they are n+ at most, and what
their leaders ask sums to M+_c at most. Where M+_c has no end, nothing is dealt by it.

Where a leader is not looked for among all cells, limits stand for it: it asks m- at least, componentwise the least of
the cells that may lead the occupant, and m+ at most, the most of any on such a share. Both limits together say no more
than the best of the cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.mps_sharing import MpsType
from ...dealt_costs.boxes import Boxes
from ...dealt_costs.resident_points import demands_of
from .leaders import Leaders, leaders_of

ROUNDING = 1 + 1e-9
"""By how much what leaders ask may pass the end of a range, by rounding alone."""


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
    pressure: Floats
    """Shape (batch size, unit)."""
    least_leading: Floats
    """m-, shape (thing shared, batch size, unit)."""


@dataclass(frozen=True, eq=False)
class Points:
    """How fast occupants of a kind are in boxes, by two leaders; shape (box, batch size, unit)."""

    own_ms: Floats
    """If the occupant leads its share itself; inf: it cannot be in the box so."""
    own_rps: Floats
    least_ms: Floats
    """If its leader leaves least to the others: m+; inf: no leader can be there."""
    most_rps: Floats


class Occupants:
    """Occupants of the shares of a GPU type."""

    def __init__(self, mps: MpsType, kinds: Sequence[Ints], in_proportion: Floats) -> None:
        """
        Takes services by their kinds.

        `in_proportion`: what things shared are multiplied by in the pressure, above 0, shape (thing shared,).
        """
        asked = [demands_of(mps, int(own[0])) for own in kinds]
        self.mps, self.units = mps, np.arange(1, mps.capacity_units + 1)
        self.leaders: Leaders = leaders_of(asked, in_proportion)
        self.most_leading: Floats = self.leaders.high.max(axis=1).T
        """m+, shape (thing shared, unit)."""
        here = slice(mps.least_units - 1, None)
        self.least: Floats = np.min([own[:, :, here].min(axis=(1, 2)) for own in asked], axis=0)
        """What any service asks at least on any share, shape (thing shared,)."""
        self.kinds = [self._kind(own, one, in_proportion) for own, one in zip(kinds, asked, strict=True)]

    def _kind(self, services: Ints, asked: Floats, in_proportion: Floats) -> Kind:
        pressure = np.tensordot(in_proportion, asked, axes=1)
        batches, units = pressure.shape
        unit = np.tile(np.arange(units), batches)
        may = self.leaders.may_lead(pressure.ravel(), unit)
        low = np.where(may[..., None], self.leaders.low[unit], np.inf).min(axis=1)
        first = int(services[0])
        return Kind(first, services, self.mps.batches[first], asked, pressure, low.T.reshape(asked.shape))

    def points(self, kind: Kind, boxes: Boxes) -> Points:
        """Returns how fast occupants of a kind are in boxes."""
        own = self._figures(kind, boxes, kind.asked, kind.asked)
        return Points(*own, *self._figures(kind, boxes, kind.least_leading, self.most_leading[:, None]))

    def _figures(self, kind: Kind, boxes: Boxes, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Returns latency and throughput, shape (box, batch size, unit), of leaders between two limits."""
        batches, units = kind.pressure.shape
        at = np.meshgrid(np.arange(len(boxes)), np.arange(batches), np.arange(units), indexing="ij", sparse=True)
        low, high = (np.broadcast_to(one, kind.asked.shape)[:, None] for one in (low, high))
        latency, throughput = self._among(kind, boxes, (at[0], at[1], at[2]), low, high)
        shape = len(boxes), batches, units
        return np.broadcast_to(latency, shape), np.broadcast_to(throughput, shape)

    def beside_leaders(self, kind: Kind, boxes: Boxes, at: tuple[Ints, Ints, Ints]) -> tuple[Floats, Floats, Floats]:
        """
        Returns latency and throughput of occupants for each cell of leaders, shape (point, cell), and what these ask.

        `at`: boxes, batch sizes and units by their indices, shape (point,). What leaders ask at least has shape (thing
        shared, point, cell).
        """
        box, batch, unit = at
        may = self.leaders.may_lead(kind.pressure[batch, unit], unit)
        low, high = (np.moveaxis(one[unit], -1, 0) for one in (self.leaders.low, self.leaders.high))
        each = box[:, None], batch[:, None], unit[:, None]
        latency, throughput = self._among(kind, boxes, each, low, high)
        return np.where(may, latency, np.inf), np.where(may, throughput, 0.0), low

    def _among(
        self, kind: Kind, boxes: Boxes, at: tuple[Ints, Ints, Ints], low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """
        Returns latency and throughput of occupants beside leaders between limits, inf and 0 where there are none.

        `at`: boxes, batch sizes and units by their indices; `low`, `high`: with things shared first.
        """
        box, batch, unit = at
        fewest, mps = boxes.fewest[box], self.mps
        others = (fewest - 1) * self.least.reshape(-1, *[1] * fewest.ndim)
        begins, ends = (np.moveaxis(one[box], -1, 0) for one in (boxes.low, boxes.high))
        asked = kind.asked[:, batch, unit]
        totals = asked + np.maximum(begins - high, others)
        latency, throughput = mps.model.among(
            np.array(kind.first),
            kind.batch[batch],
            mps.percent(unit + 1),
            totals=tuple(totals),
            residents=fewest,
        )
        there = (unit + 1 >= mps.least_units) & (unit + 1 <= mps.capacity_units - (fewest - 1) * mps.least_units)
        there = there & (low + others <= ends * ROUNDING).all(axis=0)
        # Of one share the leader asks all that is asked.
        there = there & ((boxes.most[box] > 1) | (high * ROUNDING >= begins).all(axis=0))
        return np.where(there, latency, np.inf), np.where(there, throughput, 0.0)

    def dealt(self, boxes: Boxes, weights: Floats, at: tuple[Ints, Ints, Ints], leading: Floats) -> Floats:
        """
        Returns which parts of its GPU's cost shares are dealt.

        Parameters
        ----------
        weights
            Shape (box, weight).
        at
            As of `_among`.
        leading
            What leaders ask, with things shared first.
        """
        features, own = self.features(boxes, at, leading), weights[at[0]]
        return np.asarray(sum(one * own[..., i] for i, one in enumerate(features)))

    def features(self, boxes: Boxes, at: tuple[Ints, Ints, Ints], leading: Floats) -> list[Floats]:
        """Returns what the weights are multiplied by, one by one; arguments as of `dealt`."""
        box, _, unit = at
        ends = np.moveaxis(boxes.high[box], -1, 0)
        limited = np.isfinite(ends) & (ends > 0)
        asked = np.where(limited, leading / np.where(limited, ends, 1.0), 0.0)
        return [(unit + 1) / self.units.size, 1 / boxes.most[box], *asked]
