"""
What a node had before a transition, as a file.

`Version` and `MigState` are those of NVIDIA's `nvidia-mig-parted checkpoint` (NVIDIA/mig-parted,
api/checkpoint/v1/state.go, which skips keys that it does not know), so that `nvidia-mig-parted restore -f FILE` brings
the instances back without sliceplan; it stops everything on those GPUs. `Sliceplan` has what that shape cannot hold.
"""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict

from ...solver.model.catalogue import load_catalogue
from ...solver.model.errors import Finding, InputError
from ..model.desired import PlanReference
from ..model.device_key import DeviceKey
from ..model.live import LiveGpu, LiveInstance, LiveNode, gpus_of
from ..model.node import DeviceState
from .records import adapter, record_from
from .state_folder import StateFolder

COMPUTE_PROFILES = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 8: 5, 6: 6}
"""Compute slices -> NVML_COMPUTE_INSTANCE_PROFILE_n_SLICE of nvml.h."""


@dataclass(frozen=True)
class Checkpoint:
    """The part of a checkpoint that is the agent's own."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    when: str
    state: dict[DeviceKey, DeviceState]
    """What a rollback brings back: the GPUs and CPUs of the transition."""
    plan: PlanReference | None
    """The plan that was applied then; None: none."""


def write_checkpoint(folder: StateFolder, name: str, live: LiveNode, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint of the MIG instances of the whole node, and of the state to come back to."""
    data = {
        "Version": "v1",
        "MigState": {"Devices": [_device(gpu) for _, gpu in sorted(gpus_of(live).items())]},
        "Sliceplan": adapter(Checkpoint).dump_python(checkpoint, mode="json"),
    }
    folder.write(name, json.dumps(data, indent=1).encode() + b"\n")


def read_checkpoint(folder: StateFolder, name: str) -> Checkpoint:
    """Returns the agent's part of a checkpoint; raises InputError if there is none."""
    source = str(folder.path / name)
    content = folder.read(name)
    if content is None:
        raise InputError([Finding(source, "", "is missing; there is nothing to go back to")])
    try:
        data = json.loads(content)
        own = data["Sliceplan"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError([Finding(source, "", "is not a checkpoint of sliceplan-agent")]) from error
    return record_from(Checkpoint, json.dumps(own), source)


def _device(gpu: LiveGpu) -> dict[str, Any]:
    return {
        "UUID": gpu.uuid,
        "MigMode": int(gpu.mig_enabled),
        "GpuInstances": [
            instance
            for live in sorted(gpu.instances, key=lambda one: one.start)
            if (instance := _gpu_instance(gpu, live)) is not None
        ],
    }


def _gpu_instance(gpu: LiveGpu, instance: LiveInstance) -> dict[str, Any] | None:
    """Returns an instance in NVIDIA's form; None: the catalogue does not know its profile."""
    facts = load_catalogue().get(gpu.gpu)
    profile = facts.mig.profile(instance.profile) if facts and facts.mig else None
    if profile is None:
        return None
    compute = {"ProfileID": COMPUTE_PROFILES.get(profile.compute_slices, 0), "EngProfileID": 0}
    return {
        "ProfileID": profile.nvml_profile_enum,
        "Placement": {"Start": instance.start, "Size": profile.memory_slices},
        "ComputeInstances": [compute] if instance.uuid is not None else [],
    }
