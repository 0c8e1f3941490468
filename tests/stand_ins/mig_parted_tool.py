"""
What NVIDIA's mig-parted does with a checkpoint and with a configuration, written anew.

After cmd/nvidia-mig-parted/restore/restore.go and pkg/mig/state/state.go (Fetch, RestoreConfig): the node is read GPU
by GPU in the order of the driver's indices, profile by profile in the order of nvml.h. What was read is compared with
the file by reflect.DeepEqual, to which order counts, and a list without elements is not the same as none (null). After
cmd/nvidia-mig-parted/assert (mode.go, config.go): an assertion holds if every GPU of the node is matched by an entry.
The files of the project are read here as plain JSON and YAML, by none of the project's code.
"""

import json
from collections import Counter
from dataclasses import dataclass, field

import yaml


@dataclass
class Instance:
    """A GPU instance with compute instances, each (profile, engine profile)."""

    profile: int
    start: int
    size: int
    compute_instances: list


@dataclass
class Device:
    """A GPU of a node."""

    uuid: str
    mig: bool
    instances: list = field(default_factory=list)
    capable: bool = True


def fetched(devices):
    """Returns what mig-parted reads on a node, whose GPUs are given in the order of their indices."""
    return {"Devices": [_fetched(device) for device in devices if device.capable] or None}


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


def asserted(text, label, devices, names):
    """
    Tells whether `assert` of a configuration's label holds on a node.

    Parameters
    ----------
    names
        Index of a profile in nvml.h -> name of the MIG device, the same for all GPUs of the node.
    """
    matched = set()
    for entry in yaml.safe_load(text)["mig-configs"][label]:
        for index, device in enumerate(devices):
            if entry["devices"] != "all" and index not in entry["devices"]:
                continue
            if device.mig != entry["mig-enabled"]:
                return False
            found = Counter(names[one.profile] for one in device.instances) if device.mig else Counter()
            if found == Counter(entry.get("mig-devices") or {}):
                matched.add(index)
    return len(matched) == len(devices)


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
