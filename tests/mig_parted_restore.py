"""
What NVIDIA's mig-parted does with a checkpoint, written anew: reads a node, compares, and restores if they differ.

After cmd/nvidia-mig-parted/restore/restore.go and pkg/mig/state/state.go (Fetch, RestoreConfig): the node is read GPU
by GPU in the order of the driver's indices, profile by profile in the order of nvml.h. What was read is compared with
the file by reflect.DeepEqual, to which order counts, and a list without elements is not the same as none (null). The
files of the project are read here as plain JSON, by none of the project's code.
"""

import json
from dataclasses import dataclass, field


@dataclass
class Instance:
    """A GPU instance with compute instances, each (profile, engine profile)."""

    profile: int
    start: int
    size: int
    compute_instances: list


@dataclass
class Device:
    """A GPU that can have MIG."""

    uuid: str
    mig: bool
    instances: list = field(default_factory=list)


def fetched(devices):
    """Returns what mig-parted reads on a node, whose GPUs are given in the order of their indices."""
    return {"Devices": [_fetched(device) for device in devices] or None}


def restored(text, devices):
    """Returns how many instances `restore` of a checkpoint destroys on a node, which then has what the file says."""
    wanted = json.loads(text)["MigState"]
    if wanted == fetched(devices):
        return 0
    destroyed = 0
    for state in wanted["Devices"] or ():
        (device,) = (one for one in devices if one.uuid == state["UUID"])
        destroyed += len(device.instances) if state["MigMode"] or device.mig else 0
        device.mig = state["MigMode"] == 1
        device.instances = [_created(one) for one in state["GpuInstances"] or ()]
    return destroyed


def _fetched(device):
    found = sorted(device.instances, key=lambda one: (one.profile, one.start)) if device.mig else []
    instances = [
        {
            "ProfileID": one.profile,
            "Placement": {"Start": one.start, "Size": one.size},
            "ComputeInstances": [{"ProfileID": c, "EngProfileID": e} for c, e in sorted(one.compute_instances)] or None,
        }
        for one in found
    ]
    return {"UUID": device.uuid, "MigMode": int(device.mig), "GpuInstances": instances or None}


def _created(state):
    return Instance(
        state["ProfileID"],
        state["Placement"]["Start"],
        state["Placement"]["Size"],
        [(one["ProfileID"], one["EngProfileID"]) for one in state["ComputeInstances"] or ()],
    )
