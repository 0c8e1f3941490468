"""
A plan as the checkpoint that `nvidia-mig-parted restore` applies: every instance at its place.

`restore` first compares the file with what it reads on the node (cmd/nvidia-mig-parted/restore: reflect.DeepEqual). It
clears and creates everything unless they are equal, order included. So the order here is the one in which it reads:
GPUs by index, instances of a GPU by the index of their profile in nvml.h, those of one profile by their start.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...model.errors import Finding, InputError
from ...model.parsing import grouped
from ...model.plan import Plan
from ..mig_parted_checkpoint import dump_checkpoint, full_size_compute_profile
from .planned_gpus import KnownGpu, Part, gpus_by_node
from .rest_of_node import can_have_mig, missing_uuids, rest_of_nodes
from .target import Export, Options

RESTORE = (
    "`nvidia-mig-parted restore` clears every GPU in the file before it creates the instances: stop what runs there. "
    "To keep instances that stay the same, use `sliceplan-agent plan`."
)

INCOMPLETE = (
    "restore compares the file with all GPUs of a node that can have MIG, so that every run clears and creates all "
    "instances again. --rest mig-off lists them too, with MIG off"
)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns one file a node, with the GPUs of types that have MIG, in the order of their indices: those of the plan, and
    with `rest` mig-off all others.

    Raises
    ------
    InputError
        If no GPU of the plan has MIG, a UUID is missing, the compute instance of a profile is not known, or it is not
        known whether a GPU to be listed can have MIG.
    """
    nodes = gpus_by_node(plan, options.source)
    rest = {
        node: _others(node, nodes[node], indices, options) for node, indices in rest_of_nodes(nodes, options).items()
    }
    findings = [finding for node in nodes for finding in _findings(node, nodes[node], rest[node], options)]
    if findings:
        raise InputError(grouped(findings))
    files = {
        f"{node}.checkpoint.json": dump_checkpoint(_devices(node, gpus, rest[node], options))
        for node, gpus in nodes.items()
        if any(gpu.facts.mig for gpu in gpus)
    }
    if not files:
        raise InputError([Finding(options.source, "gpus", "has no GPU type with MIG; a checkpoint holds no others")])
    return Export(files, tuple(_notes(nodes, rest, options)))


def _others(
    node: str, gpus: Sequence[KnownGpu], indices: tuple[int, ...] | None, options: Options
) -> dict[int, bool | None]:
    """Returns the GPUs that the plan does not list and that have MIG (True), or of which it is not known (None)."""
    found = {index: can_have_mig(node, index, gpus, options) for index in indices or ()}
    return {index: has_mig for index, has_mig in found.items() if has_mig is not False}


def _findings(
    node: str, gpus: Sequence[KnownGpu], others: Mapping[int, bool | None], options: Options
) -> Iterator[Finding]:
    """Yields what keeps a node's GPUs from being written."""
    indices = [gpu.planned.index or 0 for gpu in gpus if gpu.facts.mig]
    if absent := [index for index in indices if (node, index) not in options.uuids]:
        yield missing_uuids(node, absent)
    for gpu in gpus:
        for part in gpu.parts:
            if part.profile is not None and full_size_compute_profile(gpu.facts, part.profile) is None:
                message = f"is {part.profile.name}, whose compute instance is not known; use commands"
                yield Finding(options.source, gpu.where(part), message)
    if options.rest == "mig-off":
        for index in (index for index, has_mig in others.items() if has_mig is None):
            name = options.driver_names.get((node, index))
            unknown = f"is {name!r}, and whether restore counts it (can it have MIG?) is not known; leave out --rest"
            nameless = "has no name there; --rest mig-off takes the output of `nvidia-smi -L`"
            yield Finding("--uuids", f"GPU {index} of {node}", unknown if name else nameless)


def _devices(node: str, gpus: Sequence[KnownGpu], others: Iterable[int], options: Options) -> list[dict[str, Any]]:
    """Returns the GPUs of a node as they stand in the file, by index."""
    capable = {gpu.planned.index or 0: gpu for gpu in gpus if gpu.facts.mig}
    devices = {index: _device(gpu, options.uuids[node, index]) for index, gpu in capable.items()}
    if options.rest == "mig-off":
        devices |= {index: _without_mig(options.uuids[node, index]) for index in others}
    return [devices[index] for index in sorted(devices)]


def _notes(
    nodes: Mapping[str, Sequence[KnownGpu]], rest: Mapping[str, Iterable[int]], options: Options
) -> Iterator[str]:
    yield RESTORE
    if shown := ", ".join(f"GPU {index} of {node}" for node, indices in rest.items() for index in indices):
        if options.rest == "mig-off":
            yield f"Not in the plan, so MIG is switched off there: {shown}."
        else:
            yield f"Not in the plan, left as they are: {shown}; {INCOMPLETE}."
    if without := ", ".join(gpu.id for gpus in nodes.values() for gpu in gpus if gpu.facts.mig is None):
        yield f"Without MIG, so not in the checkpoint: {without}."


def _device(gpu: KnownGpu, uuid: str) -> dict[str, Any]:
    """Returns a GPU as it stands in the file; Go writes no instances as null."""
    if gpu.planned.sharing != "mig":
        return _without_mig(uuid)
    instances = sorted((_instance(gpu, part) for part in gpu.parts), key=_read_order)
    return {"UUID": uuid, "MigMode": 1, "GpuInstances": instances}


def _without_mig(uuid: str) -> dict[str, Any]:
    return {"UUID": uuid, "MigMode": 0, "GpuInstances": None}


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
