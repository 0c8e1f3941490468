"""
What one model achieves on one GPU type: measured points, or curves fitted to them.

Both describe the operating point (MIG profile, batch size, processes): the latency of one batch and the
throughput of all processes of the partition together.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Record


class Provenance(Record):
    """Where the numbers of a profile come from."""

    source: str = Field(description="publication, artifact or measurement, precise enough to find it")
    licence: str | None = None
    method: str = Field(description="how the numbers were obtained from the source")
    date: str | None = None


class MeasuredPoint(Record):
    """One measured operating point."""

    mig_profile: str
    batch: int = Field(ge=1, le=65536)
    processes: int = Field(ge=1, le=48)
    latency_ms: float = Field(gt=0, le=1e9)
    throughput_rps: float = Field(gt=0, le=1e12, description="of all processes together")
    memory_mib: float | None = Field(default=None, gt=0, description="of all processes together; null: unknown")


class FitError(Record):
    """Relative error of a curve against the points that it was fitted to: |fitted / measured - 1|."""

    points: int = Field(ge=1)
    median: float = Field(ge=0)
    p95: float = Field(ge=0)
    max: float = Field(ge=0)


class SaturatingCurve(Record):
    """
    Time of one batch on one MIG profile with a fixed number of processes, as a function of the batch size.

        t(b) = (floor_ms^s + (per_item_ms * b^exponent)^s)^(1/s),   s = sharpness

    A small batch leaves the partition partly idle, so its time is nearly constant (floor_ms); a large one
    keeps it busy, so its time grows with the batch. The latency is t(b), the throughput of the
    partition is processes * b / t(b).
    """

    mig_profile: str
    processes: int = Field(ge=1, le=48)
    max_batch: int = Field(ge=1, le=65536, description="largest batch that was measured and fitted in memory")
    floor_ms: float = Field(ge=0)
    per_item_ms: float = Field(gt=0)
    exponent: float = Field(default=1.0, gt=0, le=2)
    sharpness: float = Field(gt=0, le=64)
    error: FitError


class Profile(Record):
    """Performance of one model on one GPU type, by points or by curves."""

    model: Annotated[str, Field(min_length=1)]
    gpu: str
    provenance: Provenance
    points: tuple[MeasuredPoint, ...] = ()
    curves: tuple[SaturatingCurve, ...] = ()
    error: FitError | None = Field(default=None, description="of all curves together; null: measured points")
    odd_points: tuple[str, ...] = Field(default=(), description="measured points that the curves miss by far")

    @model_validator(mode="after")
    def _has_points_or_curves(self) -> "Profile":
        if bool(self.points) == bool(self.curves):
            raise ValueError("expected either points (measured) or curves (fitted), not both and not none")
        keys = [(point.mig_profile, point.batch, point.processes) for point in self.points]
        keys += [(curve.mig_profile, 0, curve.processes) for curve in self.curves]
        if len(set(keys)) != len(keys):
            raise ValueError("an operating point is listed twice")
        return self

    @property
    def quality(self) -> Literal["measured", "fitted"]:
        """Whether the numbers are measured points or curves fitted to them."""
        return "measured" if self.points else "fitted"


class ProfileFile(Record):
    """A file of profiles."""

    version: Literal[1]
    profiles: tuple[Profile, ...] = Field(min_length=1)
