"""
A plan as the checkpoint that `nvidia-mig-parted restore` applies: every instance at its place.

`restore` first compares the file with what it reads on the node (cmd/nvidia-mig-parted/restore: reflect.DeepEqual). It
clears and creates everything unless they are equal, order included. So the order here is the one in which it reads:
GPUs by index, instances of a GPU by the index of their profile in nvml.h, those of one profile by their start.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...model.errors import Finding, InputError
from ...model.parsing import grouped
from ...model.plan import Plan
from ..mig_parted_checkpoint import dump_checkpoint, full_size_compute_profile
from .mig_parted_config import UNLISTED
from .planned_gpus import KnownGpu, Part, gpus_by_node
from .target import Export, Options

RESTORE = (
    "`nvidia-mig-parted restore` clears every GPU in the file before it creates the instances: stop what runs there. "
    "To keep instances that stay the same, use `sliceplan-agent plan`."
)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns one file a node, with the GPUs of types that have MIG, in the order of their indices.

    Raises
    ------
    InputError
        If no GPU of the plan has MIG, a UUID is missing, or the compute instance of a profile is not known.
    """
    source = options.source
    findings: list[Finding] = []
    files = {}
    left_out = []
    for node, gpus in gpus_by_node(plan, source).items():
        capable = [gpu for gpu in gpus if gpu.facts.mig is not None]
        left_out += [gpu.id for gpu in gpus if gpu.facts.mig is None]
        findings += _missing(node, capable, options.uuids)
        findings += [
            Finding(
                source, gpu.where(part), f"is {part.profile.name}, whose compute instance is not known; use commands"
            )
            for gpu in capable
            for part in gpu.parts
            if part.profile is not None and full_size_compute_profile(gpu.facts, part.profile) is None
        ]
        if capable and not findings:
            devices = [_device(gpu, options.uuids[node, gpu.planned.index or 0]) for gpu in capable]
            files[f"{node}.checkpoint.json"] = dump_checkpoint(devices)
    if findings:
        raise InputError(grouped(findings))
    if not files:
        raise InputError([Finding(source, "gpus", "has no GPU type with MIG; a checkpoint holds no others")])
    without: tuple[str, ...] = (UNLISTED,)
    without += (f"Without MIG, so not in the checkpoint: {', '.join(left_out)}.",) if left_out else ()
    return Export(files, (RESTORE, *without))


def _missing(node: str, gpus: Sequence[KnownGpu], uuids: Mapping[tuple[str, int], str]) -> list[Finding]:
    indices = [gpu.planned.index or 0 for gpu in gpus if (node, gpu.planned.index or 0) not in uuids]
    if not indices:
        return []
    shown = ", ".join(map(str, indices))
    message = (
        f"has no UUID of GPU {shown} of {node}; run there `nvidia-smi -L > {node}.txt`, then give {node}={node}.txt"
    )
    return [Finding("--uuids", "", message)]


def _device(gpu: KnownGpu, uuid: str) -> dict[str, Any]:
    """Returns a GPU as it stands in the file; Go writes no instances as null."""
    if gpu.planned.sharing != "mig":
        return {"UUID": uuid, "MigMode": 0, "GpuInstances": None}
    instances = sorted((_instance(gpu, part) for part in gpu.parts), key=_read_order)
    return {"UUID": uuid, "MigMode": 1, "GpuInstances": instances}


def _read_order(instance: Mapping[str, Any]) -> tuple[int, int]:
    return instance["ProfileID"], instance["Placement"]["Start"]


def _instance(gpu: KnownGpu, part: Part) -> dict[str, Any]:
    if part.profile is None:
        raise ValueError(f"{gpu.where(part)} is no MIG instance")
    return {
        "ProfileID": part.profile.nvml_profile_enum,
        "Placement": {"Start": part.partition.start, "Size": part.profile.memory_slices},
        "ComputeInstances": [
            {"ProfileID": full_size_compute_profile(gpu.facts, part.profile), "EngProfileID": 0},
        ],
    }
