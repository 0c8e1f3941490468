"""
Services on measured shares of a GPU, from tables of each model alone: what gpu-lets' planners go by.

A share is one that was measured; nothing is said of others. Between two measured batch sizes latency and utilisations
lie on the straight line through them; beyond the smallest and the largest nothing is said, as that would extrapolate.
Beside others a batch takes alpha times as long, the greatest slowdown by any of them under gpu-lets' linear model
(neighbours.py); where no such model is known, or no utilisations, nothing is slowed, and a caveat says so.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...model.interference import NeighbourModel
from ...model.profile import MeasuredPoint, Profile, Quality

ROUNDING = 1e-9
"""Part of a share by which it may be off."""


@dataclass(frozen=True)
class SoloPoint:
    """A model alone on a share with one batch size."""

    latency_ms: float
    l2_percent: float | None
    dram_percent: float | None
    basis: Quality
    """Whether it was measured, or lies between two that were; or that they are estimates."""


@dataclass(frozen=True, eq=False)
class SoloTable:
    """One model's measurements on one GPU type, by share and batch size; one process each."""

    by_share: Mapping[float, tuple[MeasuredPoint, ...]]
    """Share in percent -> its points, by rising batch size."""
    neighbours: NeighbourModel | None
    is_estimated: bool = False
    """Whether the points were carried over from another GPU type."""

    @classmethod
    def of(cls, profile: Profile) -> "SoloTable":
        """Returns the table of a profile; one without measured shares is empty."""
        found: dict[float, list[MeasuredPoint]] = {}
        for point in profile.share_points:
            if point.processes == 1 and point.sm_percent is not None:
                found.setdefault(point.sm_percent, []).append(point)
        by_batch = {share: tuple(sorted(points, key=lambda one: one.batch)) for share, points in found.items()}
        return cls(by_batch, profile.neighbours, profile.share_estimate is not None)

    def from_share(self, percent: float) -> "SoloTable":
        """Returns the table without smaller shares."""
        kept = {share: points for share, points in self.by_share.items() if share >= percent * (1 - ROUNDING)}
        return self if len(kept) == len(self.by_share) else replace(self, by_share=kept)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The measured shares, ascending."""
        return tuple(sorted(self.by_share))

    @property
    def largest_batch(self) -> int:
        """The largest batch size that was measured at every share."""
        return min((points[-1].batch for points in self.by_share.values()), default=0)

    def at(self, batch: int, share: float) -> SoloPoint | None:
        """Returns what is known of a batch size on a share; None: it lies outside of what was measured."""
        points = self.by_share.get(share, ())
        after = next((i for i, point in enumerate(points) if point.batch >= batch), None)
        if after is None or (after == 0 and points[0].batch > batch):
            return None
        high = points[after]
        if high.batch == batch:
            basis: Quality = "estimated" if self.is_estimated else "measured"
            return SoloPoint(high.latency_ms, high.l2_percent, high.dram_percent, basis)
        low = points[after - 1]
        part = (batch - low.batch) / (high.batch - low.batch)
        return SoloPoint(
            low.latency_ms + (high.latency_ms - low.latency_ms) * part,
            _between(low.l2_percent, high.l2_percent, part),
            _between(low.dram_percent, high.dram_percent, part),
            "estimated" if self.is_estimated else "fitted",
        )

    def points(self, batch_sizes: Collection[int] | None = None) -> Iterator[tuple[int, float, float]]:
        """Yields batch size, share and latency in ms of every point, between measured ones too."""
        for share, measured in self.by_share.items():
            for batch in range(measured[0].batch, measured[-1].batch + 1):
                if batch_sizes is None or batch in batch_sizes:
                    point = self.at(batch, share)
                    if point is not None:
                        yield batch, share, point.latency_ms


def alpha(model: NeighbourModel | None, own: SoloPoint, others: Sequence[SoloPoint]) -> float:
    """Returns by what factor a latency grows beside others; 1 where nothing is known of how they disturb it."""
    return max((_of_one(model, own, other) for other in others), default=1.0)


def _of_one(model: NeighbourModel | None, own: SoloPoint, other: SoloPoint) -> float:
    if model is None or None in (own.l2_percent, own.dram_percent, other.l2_percent, other.dram_percent):
        return 1.0
    slowdown = (
        model.own_l2 * (own.l2_percent or 0.0)
        + model.other_l2 * (other.l2_percent or 0.0)
        + model.own_dram * (own.dram_percent or 0.0)
        + model.other_dram * (other.dram_percent or 0.0)
        + model.constant
    )
    return 1 + max(0.0, slowdown)


def _between(low: float | None, high: float | None, part: float) -> float | None:
    return None if low is None or high is None else low + (high - low) * part
