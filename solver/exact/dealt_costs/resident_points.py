"""
What residents may be in boxes of surroundings, and which parts of their GPU's cost are dealt to them there.

In a box with residents [n-, n+] and demands [D-, D+] (boxes.py) a resident with batch size b, u units and demands d

    is as fast                 as `among` says of n- residents who ask for max(D-, d) together
    is dealt, of its GPU's cost     alpha u/U + gamma/n+ + sum_c beta_c d_c/D+_c                                     (1)

with weights alpha + gamma + sum beta = 1, none below 0, that are the box's own.

Lemma 1. On a GPU that keeps its SLOs with its surroundings in the box, a resident with (b, u) is no faster, and those
of the GPU are dealt no more than its cost.

Proof. There are n- residents or more, who ask for D- or more together, and for d or more, since it is one of them and
nobody asks less than nothing; of lower limits of both `among` gives a lower limit of the latency and an upper one of
the throughput. By the first sentence of each: the u sum to U at most, there are n+ residents at most, and the d_c sum
to D+_c at most, so the sum of (1) is at most alpha + gamma + sum beta.

Where D+_c has no end, nothing is dealt by d_c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from .boxes import Boxes

ROUNDING = 1 + 1e-9
"""By how much what one resident asks may pass the end of a range, by rounding alone."""

FALL = 1e-12
"""By how much a feature may fall by rounding alone."""


@dataclass(frozen=True, eq=False)
class ResidentPoints:
    """Residents of one kind in boxes. Arrays have shape (box, batch size, units of 1 and up) and those after it."""

    batch: Ints
    """Shape (batch size,)."""
    latency_ms: Floats
    """inf: it asks more itself than all may in the box."""
    throughput_rps: Floats
    features: Floats
    """What the weights are multiplied by in (1), shape (..., weight)."""

    @cached_property
    def time_ms(self) -> Floats:
        """How long every batch is counted to take by a rule of requests that wait; inf as `latency_ms`."""
        with np.errstate(divide="ignore"):  # of nobody, whose latency is none either
            by_throughput = 1000.0 * self.batch[:, None] / self.throughput_rps
        return np.maximum(self.latency_ms, by_throughput)

    @cached_property
    def rises(self) -> bool:
        """Whether features never fall with units, but by rounding."""
        return bool((np.diff(self.features, axis=2) >= -FALL).all())

    def of(self, rows: Ints) -> "ResidentPoints":
        """Returns those in some of the boxes."""
        return ResidentPoints(self.batch, self.latency_ms[rows], self.throughput_rps[rows], self.features[rows])

    def and_also(self, others: "ResidentPoints") -> "ResidentPoints":
        """Returns those in these boxes, and then in others."""
        return ResidentPoints(
            self.batch,
            np.concatenate([self.latency_ms, others.latency_ms]),
            np.concatenate([self.throughput_rps, others.throughput_rps]),
            np.concatenate([self.features, others.features]),
        )


def demands_of(mps: MpsType, workload: int) -> Floats:
    """Returns what a resident asks of each thing shared, shape (thing shared, batch size, units)."""
    batch = mps.batches[workload][:, None]
    percent = mps.percent(np.arange(1, mps.capacity_units + 1))[None]
    own, batch, percent = np.broadcast_arrays(workload, batch, percent)
    return np.stack(mps.model.demands_at(own, mps.model.ability_rps(own, batch, percent)))


def resident_points(mps: MpsType, workload: int, boxes: Boxes) -> ResidentPoints:
    """Returns what residents of a workload's kind may be in boxes."""
    asked = demands_of(mps, workload)[:, None]
    things, _, batches, units = asked.shape
    shape = (len(boxes), batches, units)
    percent = mps.percent(np.arange(1, units + 1))
    low, high = boxes.low.T[:, :, None, None], boxes.high.T[:, :, None, None]
    latency, throughput = mps.model.among(
        np.full(shape, workload),
        np.broadcast_to(mps.batches[workload][:, None], shape),
        np.broadcast_to(percent, shape),
        totals=tuple(np.maximum(low, asked)),
        residents=np.broadcast_to(boxes.fewest[:, None, None], shape),
    )
    nowhere = (asked > high * ROUNDING).any(axis=0) | (np.arange(1, units + 1) < mps.least_units)
    features = np.zeros((*shape, 2 + things))
    features[..., 0] = np.arange(1, units + 1) / units
    features[..., 1] = 1 / boxes.most[:, None, None]
    limited = np.isfinite(high) & (high > 0)
    features[..., 2:] = np.moveaxis(np.where(limited, asked / np.where(limited, high, 1.0), 0.0), 0, -1)
    return ResidentPoints(
        mps.batches[workload], np.where(nowhere, np.inf, latency), np.where(nowhere, 0.0, throughput), features
    )


def dealt(points: ResidentPoints, weights: Floats) -> Floats:
    """Returns the part of its GPU's cost that is dealt to each resident; `weights` has shape (box, weight)."""
    boxes, batches, units, things = points.features.shape
    own = points.features.reshape(boxes, batches * units, things) @ weights[:, :, None]
    return np.asarray(own.reshape(boxes, batches, units))


def joined(old: Sequence[ResidentPoints], kept: Ints, new: Sequence[ResidentPoints]) -> list[ResidentPoints]:
    """Returns the points of each kind in the boxes that are kept, and then in new ones."""
    return [before.of(kept).and_also(more) for before, more in zip(old, new, strict=True)]
