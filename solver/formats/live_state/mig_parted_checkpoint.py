"""Reads a checkpoint of mig-parted (`nvidia-mig-parted checkpoint -f now.json`): every instance with its place."""

from collections.abc import Mapping

from ...model.errors import Finding, InputError
from ...model.hardware import Gpu, MigProfile
from ...model.parsing import grouped, parse_record, parse_text
from ..mig_parted_checkpoint import Checkpoint, DeviceState, GpuInstanceState, full_size_compute_profile
from ..transcripts import json_within
from .live_gpus import GpuTypes, LiveGpu, LiveState, gpu_type, live_gpu


def read_checkpoint(text: str, source: str, types: GpuTypes, uuids: Mapping[int, str]) -> LiveState:
    """
    Returns the GPUs of a node that are cut by MIG.

    Parameters
    ----------
    uuids
        GPU index -> UUID: the file has UUIDs only, and leaves out GPUs without MIG, so that their order tells nothing.

    Raises
    ------
    InputError
        If the text is no checkpoint, a UUID or a GPU type is not known, or instances cannot be on that type.
    """
    data = parse_text(json_within(text), source, is_json=True)
    devices = parse_record(Checkpoint, data, source).state.devices or ()
    indices = {uuid: index for index, uuid in uuids.items()}
    unknown = [device.uuid for device in devices if device.uuid not in indices]
    if unknown:
        lost = "is missing" if not uuids else f"has no {unknown[0]}"
        message = f"{lost}; the file has UUIDs but no indices: run `nvidia-smi -L` on the node and give its output"
        raise InputError([Finding("--uuids", "", message)])
    twice = sorted({device.uuid for device in devices if sum(device.uuid == other.uuid for other in devices) > 1})
    findings = [Finding(source, uuid, "is listed twice") for uuid in twice]
    cut = [device for device in devices if device.mig_mode == 1 and device.instances]
    gpus: list[LiveGpu] = []
    for device in cut:
        try:
            gpus.append(_gpu(indices[device.uuid], device, source, types))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(grouped(list(dict.fromkeys(findings))))
    others = sorted(indices[device.uuid] for device in devices if device not in cut)
    notes = (f"Without instances, so not in the plan: GPU {', '.join(map(str, others))}.",) if others else ()
    return LiveState(tuple(gpus), notes)


def _gpu(index: int, device: DeviceState, source: str, types: GpuTypes) -> LiveGpu:
    facts = gpu_type(index, types, source)
    profiles = {profile.nvml_profile_enum: profile for profile in (facts.mig.profiles if facts.mig else ())}
    findings, found = [], []
    for instance in device.instances or ():
        where = f"GPU {index}, instance at {instance.placement.start}"
        profile = profiles.get(instance.profile)
        if profile is None:
            message = f"has profile {instance.profile} of nvml.h, which {facts.name} does not have. Is --gpu right?"
            findings.append(Finding(source, where, message))
        elif not _filled(facts, profile, instance):
            count = len(instance.compute_instances or ())
            message = f"has {count} compute instances; sliceplan knows one that fills it (`nvidia-smi mig -lci`)"
            findings.append(Finding(source, where, message))
        else:
            found.append((profile, instance.placement.start, instance.placement.size))
    if findings:
        raise InputError(findings)
    return live_gpu(index, facts, found, source)


def _filled(facts: Gpu, profile: MigProfile, instance: GpuInstanceState) -> bool:
    """Tells whether an instance has one compute instance of its full size."""
    found = [one.profile for one in instance.compute_instances or ()]
    return found == [full_size_compute_profile(facts, profile)]
