"""GPUs as the catalogue describes them: sizes and MIG geometry, each with its source."""

from math import ceil, floor
from typing import Literal

from pydantic import Field, model_validator

from .base import Name, Record
from .errors import Finding, InputError

Engine = Literal["ce", "dec", "enc", "jpeg", "ofa"]
"""Copy engines and media engines of a GPU (NVDEC, NVENC, JPEG decoder, optical flow accelerator)."""


class Fact(Record):
    """A number with its source; `verified` is false where the source is indirect or a guess."""

    value: float = Field(gt=0)
    source: str
    verified: bool = True
    note: str | None = None


class MigProfile(Record):
    """One kind of MIG GPU instance, as `nvidia-smi mig -lgip` and `-lgipp` list it for one GPU type."""

    name: str = Field(description="NVIDIA's name, as 2g.20gb or 1g.10gb+me")
    nvml_profile_id: int | None = Field(
        description="the id that nvidia-smi prints; belongs to this GPU type only; null: unknown"
    )
    nvml_profile_enum: int = Field(description="index NVML_GPU_INSTANCE_PROFILE_* of nvml.h")
    compute_slices: int = Field(ge=1)
    memory_slices: int = Field(ge=1, description="placement units that an instance occupies")
    memory_gib: float | None = Field(default=None, gt=0, description="usable memory; null: unknown")
    sm_count: int | None = Field(default=None, ge=1, description="null: unknown")
    max_count: int = Field(ge=1, description="instances of this profile that fit on an empty GPU")
    starts: tuple[int, ...] = Field(min_length=1, description="legal placements: first placement unit")
    kind: Literal["base", "double_memory", "variant"] = Field(
        description="variant: with or without media engines or graphics (+me, +me.all, -me, +gfx)"
    )
    engines: dict[Engine, int] | None = Field(default=None, description="null: unknown")
    source: str
    unverified: tuple[str, ...] = Field(default=(), description="fields not confirmed on a device or in a guide")
    min_driver: str | None = None
    note: str | None = None

    @property
    def memory_mib(self) -> float | None:
        """Usable memory in MiB; None where the catalogue does not know it."""
        return None if self.memory_gib is None else self.memory_gib * 1024


class MigGeometry(Record):
    """The axis on which MIG instances of a GPU are placed, and the profiles that it knows."""

    compute_slices: int = Field(ge=1)
    placement_units: int = Field(ge=1, description="length of the placement axis (memory slices)")
    profiles: tuple[MigProfile, ...]

    @model_validator(mode="after")
    def _profiles_fit_the_axis(self) -> "MigGeometry":
        for profile in self.profiles:
            for start in profile.starts:
                if not 0 <= start <= self.placement_units - profile.memory_slices:
                    raise ValueError(
                        f"{profile.name} at {start} leaves the axis of {self.placement_units} placement units"
                    )
        names = [profile.name for profile in self.profiles]
        if len(set(names)) != len(names):
            raise ValueError("two MIG profiles have one name")
        return self

    def profile(self, name: str) -> MigProfile | None:
        """Returns the profile of that name, None if this GPU type has no such profile."""
        return next((profile for profile in self.profiles if profile.name == name), None)

    @property
    def full(self) -> MigProfile:
        """The profile that covers the whole GPU."""
        return max(
            (profile for profile in self.profiles if profile.kind == "base"),
            key=lambda profile: profile.compute_slices,
        )


OPTIONAL_FACTS = ("tensor_fp16_dense_tflops", "fp32_tflops", "l2_mb", "max_clock_mhz", "pcie_gen")
"""Figures of a GPU type that may be null."""


class Gpu(Record):
    """One GPU type of the catalogue."""

    name: Name
    architecture: str
    compute_capability: str
    sm_count: Fact
    memory_gib: Fact
    memory_bandwidth_gb_s: Fact
    tensor_fp16_dense_tflops: Fact | None
    fp32_tflops: Fact | None
    l2_mb: Fact | None
    tdp_w: Fact
    max_clock_mhz: Fact | None
    pcie_gen: Fact | None
    mps_max_clients: Fact
    mps_least_sms: Fact | None = Field(
        default=None, description="SMs that a client of MPS gets of any share, however small; null: not known"
    )
    unknown: dict[str, str] = Field(default_factory=dict, description="each figure that is null -> why it is not known")
    mig: MigGeometry | None = Field(description="null: the GPU has no MIG")

    @model_validator(mode="after")
    def _what_is_null_has_a_reason(self) -> "Gpu":
        null = {name for name in OPTIONAL_FACTS if getattr(self, name) is None}
        if null != set(self.unknown):
            raise ValueError(f"null are {sorted(null)}, but `unknown` gives reasons for {sorted(self.unknown)}")
        return self

    def known(self, name: str) -> float:
        """Returns a figure that may be null; InputError if it is, with the reason."""
        fact: Fact | None = getattr(self, name)
        if fact is None:
            message = f"is not known of this GPU type: {self.unknown[name]}"
            raise InputError([Finding(self.name, name, message)])
        return fact.value

    @property
    def memory_mib(self) -> float:
        """Memory of the whole GPU in MiB."""
        return self.memory_gib.value * 1024

    @property
    def mps_unit_percent(self) -> float:
        """
        Granularity of MPS shares in percent: 2 SMs, the size of a TPC (iGniter, sec. 3.2: "around 2 SMs").

        An active thread percentage is rounded down to whole units (active_threads.py).
        """
        return 100 / (self.sm_count.value // 2)

    @property
    def mps_least_units(self) -> int:
        """
        Units of the smallest share that a GPU has: the fewest that are as many SMs as any client gets.

        A client of a smaller one would have these SMs all the same (docs/explanation/on-a-gpu.md), and shares that add
        up to a GPU would be more than it. 1 where the figure is not known.
        """
        return 1 if self.mps_least_sms is None else ceil(self.mps_least_sms.value / 2)

    @property
    def mps_least_percent(self) -> float:
        """The smallest share in percent; 0 where the figure is not known: then a measured share may be any."""
        return 0.0 if self.mps_least_sms is None else min(100.0, self.mps_least_units * self.mps_unit_percent)

    def mps_process_percent(self, share_percent: float, processes: int) -> float:
        """
        Returns the cap of each of the processes that have a share together; 0: the share is too small for so many.

        An active thread percentage is each client's own (NVIDIA MPS documentation, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE),
        and is rounded to whole units. So the share is dealt in whole units, as many to each: together the processes
        never pass it. The share of one process is its cap as it stands.
        """
        if processes == 1:
            return share_percent
        # A share is a multiple of the unit but for rounding, which must not cost a unit.
        return floor(share_percent / self.mps_unit_percent / processes * (1 + 1e-9)) * self.mps_unit_percent

    def mps_client_limit(self, profile: MigProfile | None) -> int:
        """
        Returns how many MPS clients a MIG instance of this GPU takes, or the whole GPU if profile is None.

        The limit of the GPU falls in proportion to the compute slices of the instance (NVIDIA MIG User
        Guide v580, table 3).
        """
        clients = int(self.mps_max_clients.value)
        if profile is None or self.mig is None:
            return clients
        return max(1, clients * profile.compute_slices // self.mig.compute_slices)
