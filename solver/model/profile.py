"""
What one model achieves on one GPU type, or on one CPU type. A profile of a GPU type has up to four parts:

    points on MIG profiles, or curves fitted to them    MIG instances, several processes of the model within one
    points at shares of the whole GPU                   the model alone, capped by MPS; 100 %: the GPU used whole
    interference                                        iGniter's model: MPS shares beside other models
    neighbours                                          gpu-lets' model: what the points at shares lose to a neighbour

One of a CPU type has points by cores. A point or a curve says of an operating point (partition, batch size, processes)
the latency of one batch and the throughput of all processes of the partition together.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from .base import Record
from .either import cpu_named, either_gpu_or_cpu
from .fit_error import FitError
from .interference import Interference, NeighbourModel
from .sharing import Sharing, cores_in_words

Quality = Literal["measured", "fitted", "estimated"]


class Provenance(Record):
    """Where the numbers of a profile come from."""

    source: str = Field(description="publication, artifact or measurement, precise enough to find it")
    licence: str | None = None
    method: str = Field(description="how the numbers were obtained from the source")
    date: str | None = None


class MeasuredPoint(Record):
    """One measured operating point: on a MIG profile, at a share of the whole GPU, or on some cores of a CPU."""

    mig_profile: str | None = Field(default=None, description="null: measured at a share of the whole GPU")
    sm_percent: float | None = Field(default=None, gt=0, le=100, description="share of the SMs; null: on a MIG profile")
    cores: int | None = Field(default=None, ge=1, le=4096, description="physical cores; null: measured on a GPU")
    batch: int = Field(ge=1, le=65536)
    processes: int = Field(ge=1, le=48, description="of the model on the partition at once; on a CPU its instances")
    latency_ms: float = Field(gt=0, le=1e9)
    throughput_rps: float = Field(gt=0, le=1e12, description="of all processes together")
    memory_mib: float | None = Field(default=None, gt=0, description="of all processes together; null: unknown")
    l2_percent: float | None = Field(default=None, ge=0, le=100, description="use of the L2 cache; null: unknown")
    dram_percent: float | None = Field(default=None, ge=0, le=100, description="use of the DRAM bandwidth")

    @model_validator(mode="after")
    def _is_on_one_partition(self) -> "MeasuredPoint":
        if [self.mig_profile, self.sm_percent, self.cores].count(None) != 2:
            raise ValueError("expected one of mig_profile, sm_percent and cores: what the point was measured on")
        return self

    @property
    def partition(self) -> str | None:
        """The name of the partition that it was measured on: a MIG profile's, or of some cores; None: on a share."""
        return self.mig_profile if self.cores is None else cores_in_words(self.cores)


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


class Estimate(Record):
    """That figures were carried over from another GPU type and not measured."""

    measured_on: str = Field(description="GPU type that was measured")
    margin: float = Field(ge=0, le=10, description="part that was added to every time")


class Profile(Record):
    """Performance of one model on one GPU type, or on one CPU type."""

    model_config = ConfigDict(json_schema_extra=either_gpu_or_cpu)

    model: Annotated[str, Field(min_length=1)]
    gpu: str
    cpu: str | None = Field(default=None, description="CPU type, in place of `gpu`; it has points by cores alone")
    provenance: Provenance
    points: tuple[MeasuredPoint, ...] = ()
    curves: tuple[SaturatingCurve, ...] = ()
    error: FitError | None = Field(default=None, description="of all curves together; null: no curves")
    odd_points: tuple[str, ...] = Field(default=(), description="measured points that the curves miss by far")
    interference: Interference | None = Field(default=None, description="iGniter's model, for MPS; null: not fitted")
    neighbours: NeighbourModel | None = Field(default=None, description="gpu-lets' model, the same for all of a GPU")
    mig_estimate: Estimate | None = Field(
        default=None, description="of the points on MIG profiles or the curves; null: measured, or fitted to that"
    )
    share_estimate: Estimate | None = Field(default=None, description="of the points at shares; null: measured")

    @model_validator(mode="before")
    @classmethod
    def _cpu_is_the_type(cls, data: object) -> object:
        return cpu_named(data)

    @model_validator(mode="after")
    def _has_what_its_kind_has(self) -> "Profile":
        if self.cpu is None and self.core_points:
            raise ValueError("has points by cores, which CPUs have; expected `cpu` in place of `gpu`")
        others = (self.curves, self.interference, self.neighbours, self.mig_estimate, self.share_estimate)
        if self.cpu is not None and (any(others) or len(self.core_points) < len(self.points)):
            raise ValueError("is of a CPU, which has points by cores alone; expected `cores` in every point")
        return self

    @model_validator(mode="after")
    def _says_something_once(self) -> "Profile":
        if not (self.points or self.curves or self.interference):
            raise ValueError("expected points (measured), curves (fitted) or interference coefficients, and found none")
        if self.mig_points and self.curves:
            raise ValueError("expected either points on MIG profiles (measured) or curves (fitted), not both")
        keys = [(point.partition or point.sm_percent, point.batch, point.processes) for point in self.points]
        keys += [(curve.mig_profile, 0, curve.processes) for curve in self.curves]
        if len(set(keys)) != len(keys):
            raise ValueError("an operating point is listed twice")
        return self

    @cached_property
    def mig_points(self) -> tuple[MeasuredPoint, ...]:
        """The points on MIG profiles."""
        return tuple(point for point in self.points if point.mig_profile is not None)

    @cached_property
    def share_points(self) -> tuple[MeasuredPoint, ...]:
        """The points at shares of the whole GPU."""
        return tuple(point for point in self.points if point.sm_percent is not None)

    @cached_property
    def core_points(self) -> tuple[MeasuredPoint, ...]:
        """The points on cores of a CPU."""
        return tuple(point for point in self.points if point.cores is not None)

    @cached_property
    def by_partition(self) -> dict[str, tuple[MeasuredPoint, ...]]:
        """The points on MIG profiles, or on cores, by the name of the partition."""
        found: dict[str, list[MeasuredPoint]] = {}
        for point in (*self.mig_points, *self.core_points):
            found.setdefault(point.partition or "", []).append(point)
        return {name: tuple(points) for name, points in found.items()}

    @property
    def has_whole_points(self) -> bool:
        """Whether there are points at 100 % of the GPU, which then are all that is said of it used whole."""
        return any(point.sm_percent == 100 for point in self.share_points)

    def basis(self, sharing: Sharing) -> Quality:
        """Returns where the numbers for a kind of sharing come from."""
        if sharing == "cores":
            return "measured"
        if self.estimate(sharing) is not None:
            return "estimated"
        if sharing == "mig":
            return "measured" if self.mig_points else "fitted"
        return "measured" if sharing == "exclusive" and self.has_whole_points else "fitted"

    def estimate(self, sharing: Sharing) -> tuple[str, float | None] | None:
        """
        Returns from which GPU type the numbers for a kind of sharing were carried over, and the part that was added.

        None: they were measured, or fitted to measurements. Under MPS they are those of the interference model where
        there is one.
        """
        known = self.interference
        if (sharing == "mps" and known is not None) or (sharing == "exclusive" and not self.has_whole_points):
            return None if known is None or known.estimated_from is None else (known.estimated_from, known.margin)
        mark = self.mig_estimate if sharing == "mig" else self.share_estimate
        return None if mark is None else (mark.measured_on, mark.margin)

    @property
    def quality(self) -> Quality:
        """Where the numbers come from: measured, fitted to measurements, or estimated from another GPU type's."""
        carried = self.interference is not None and self.interference.estimated_from is not None
        if carried or self.mig_estimate or self.share_estimate:
            return "estimated"
        return "measured" if self.points and not self.interference else "fitted"


class ProfileFile(Record):
    """A file of profiles."""

    version: Literal[1]
    profiles: tuple[Profile, ...] = Field(min_length=1)


def merged(profiles: Iterable[Profile]) -> dict[tuple[str, str], Profile]:
    """
    Returns one profile for each model and GPU type, by that pair.

    A later profile wins over an earlier one of the same model and GPU type, part by part: points on MIG profiles
    or curves, points at shares, points on cores, interference, neighbours. What it does not have stays.
    """
    found: dict[tuple[str, str], Profile] = {}
    for profile in profiles:
        key = (profile.model, profile.gpu)
        found[key] = _over(found[key], profile) if key in found else profile
    return found


def _over(earlier: Profile, later: Profile) -> Profile:
    has_mig = bool(later.mig_points or later.curves)
    mig = later if has_mig else earlier
    shares = later if later.share_points else earlier
    return later.model_copy(
        update={
            "points": (*mig.mig_points, *shares.share_points, *(later.core_points or earlier.core_points)),
            "curves": mig.curves,
            "error": mig.error,
            "odd_points": mig.odd_points,
            "interference": later.interference or earlier.interference,
            "neighbours": later.neighbours or earlier.neighbours,
            "mig_estimate": mig.mig_estimate,
            "share_estimate": shares.share_estimate,
        }
    )
