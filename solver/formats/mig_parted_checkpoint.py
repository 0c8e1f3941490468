"""
The checkpoint file of NVIDIA's mig-parted: MIG mode and instances of every GPU of a node, with their places.

`nvidia-mig-parted checkpoint` writes it and `restore` reads it (NVIDIA/mig-parted, api/checkpoint/v1/state.go and
pkg/types/mig_state.go). Its profile ids are indices NVML_GPU_INSTANCE_PROFILE_* and NVML_COMPUTE_INSTANCE_PROFILE_*
of nvml.h, not the ids that nvidia-smi prints. Go reads keys whatever their case, and earlier releases wrote
`ProfileId`, so both spellings are read here; written is the present one.
"""

import json
from typing import Any, Literal

from pydantic import AliasChoices, Field

from ..model.base import Record
from ..model.hardware import Gpu, MigProfile

FULL_SIZE = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 8: 5, 6: 6}
"""Compute slices -> NVML_COMPUTE_INSTANCE_PROFILE_<n>_SLICE (nvml.h)."""

ONE_SLICE_REV1 = 7
"""NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1: one slice that takes all SMs of a 1g instance with more than usual."""


class ComputeInstanceState(Record):
    """A compute instance: nvml.h's index of its profile and of its engine profile."""

    profile: int = Field(ge=0, validation_alias=AliasChoices("ProfileID", "ProfileId"))
    engine_profile: int = Field(default=0, ge=0, validation_alias=AliasChoices("EngProfileID", "EngProfileId"))


class PlacementState(Record):
    """Where an instance is on the axis of placement units."""

    start: int = Field(ge=0, validation_alias="Start")
    size: int = Field(ge=1, validation_alias="Size")


class GpuInstanceState(Record):
    """A GPU instance."""

    profile: int = Field(ge=0, validation_alias=AliasChoices("ProfileID", "ProfileId"))
    placement: PlacementState = Field(validation_alias="Placement")
    compute_instances: tuple[ComputeInstanceState, ...] | None = Field(
        default=None, validation_alias="ComputeInstances"
    )


class DeviceState(Record):
    """A GPU; mig-parted leaves out those without MIG."""

    uuid: str = Field(min_length=1, validation_alias="UUID")
    mig_mode: Literal[0, 1] = Field(validation_alias="MigMode")
    instances: tuple[GpuInstanceState, ...] | None = Field(default=None, validation_alias="GpuInstances")


class MigState(Record):
    """The GPUs of a node."""

    devices: tuple[DeviceState, ...] | None = Field(validation_alias="Devices")


class Checkpoint(Record):
    """The file."""

    version: Literal["v1"] = Field(validation_alias="Version")
    state: MigState = Field(validation_alias="MigState")


def dump_checkpoint(devices: list[dict[str, Any]]) -> str:
    """Returns the file's text for its GPUs, which are given as they stand in the file."""
    data = {"Version": "v1", "MigState": {"Devices": devices}}
    Checkpoint.model_validate(data)
    return json.dumps(data, indent=1) + "\n"


def full_size_compute_profile(gpu: Gpu, profile: MigProfile) -> int | None:
    """
    Returns the index in nvml.h of the compute instance that fills a GPU instance; None: not known.

    It is the one with as many slices, but for 1g instances of more SMs than the plain one, as 1g.20gb of an H100 with
    its 26 SMs: there `nvidia-smi mig -cgi 15 -C` makes a compute instance of profile 7 (seen on an H100 80GB HBM3).
    """
    if profile.compute_slices != 1 or profile.kind != "double_memory":
        return FULL_SIZE.get(profile.compute_slices)
    plain = next((p.sm_count for p in gpu.mig.profiles if p.nvml_profile_enum == 0), None) if gpu.mig else None
    if plain is None or profile.sm_count is None:
        return None
    return ONE_SLICE_REV1 if profile.sm_count > plain else FULL_SIZE[1]
