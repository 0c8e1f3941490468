"""Whether a step did what it promises, and nothing else, by what was read before and after it."""

from collections.abc import Mapping

from ..model.core_services import core_text
from ..model.core_steps import CoreStep, OnCpu, StopOnCores
from ..model.device_key import device_text
from ..model.live import LiveCpu, LiveGpu, LiveInstance, LiveNode
from ..model.node import Slot, place_text, service_text
from ..model.steps import (
    CheckHealth,
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    GpuStep,
    OnGpu,
    ResetGpu,
    SetMigMode,
    StartMps,
    StartService,
    Step,
    StopMps,
    StopService,
)


def broken_promise(step: Step, before: LiveNode, after: LiveNode, known: Mapping[Slot, str]) -> str | None:
    """
    Returns how what was read back differs from what a step promises; None: it does not.

    Parameters
    ----------
    known
        UUIDs of the MIG devices that were there before the step, as they were first read.
    """
    found, there = after.get(step.device), before[step.device]
    if found is None:
        return f"{device_text(step.device)} is gone"
    if isinstance(step, CoreStep) and isinstance(found, LiveCpu) and isinstance(there, LiveCpu):
        return _broken_on_cores(step, there, found)
    if isinstance(step, GpuStep) and isinstance(found, LiveGpu) and isinstance(there, LiveGpu):
        kept, otherwise = _own_promise(step, found, known)
        return _bystanders(step, there, found, known) if kept else otherwise
    return f"{device_text(step.device)} is a GPU here and a CPU there"


def _broken_on_cores(step: OnCpu, before: LiveCpu, after: LiveCpu) -> str | None:
    """Returns how a CPU differs from what a step promises: its service has its cores, and the others theirs."""
    found, what = after.running(step.name), f"{step.service.workload} on {core_text(step.service)}"
    if isinstance(step, StopOnCores):
        if found is not None:
            return f"{what} still runs"
    elif found is None or found.service != step.service or found.healthy is False:
        return f"{what} does not run with its settings"
    elif found.found_on is not None:
        return f"{what} is not confined to them: {found.found_on}"
    for one in before.services:
        other = after.running(one.name)
        if one.name != step.name and (other is None or other.service != one.service):
            return f"{one.service.workload} on {core_text(one.service)} is gone, and no step is about it"
    return None


def _own_promise(step: OnGpu, gpu: LiveGpu, known: Mapping[Slot, str]) -> tuple[bool, str]:
    """Returns whether a GPU is as the step promises, and what there is to say if it is not."""
    match step:
        case SetMigMode(enabled=enabled):
            return gpu.mig_pending == enabled, f"MIG mode is not to turn {'on' if enabled else 'off'}"
        case ResetGpu():
            return gpu.mig_pending == gpu.mig_enabled, "MIG mode still waits for a reset"
        case CreateInstance(start=start, profile=profile):
            return _is(gpu.instance(start), profile), f"there is no {profile} at {start}"
        case CreateComputeInstance(start=start, profile=profile):
            missing = _usable(step, gpu.instance(start), profile, known)
            return missing is None, missing or ""
        case DestroyComputeInstance(start=start, profile=profile):
            instance = gpu.instance(start)
            gone = instance is None or not instance.ci_ids
            return gone, f"{profile} at {start} still has a compute instance"
        case DestroyInstance(start=start, profile=profile):
            return gpu.instance(start) is None, f"{profile} at {start} is still there"
        case StartMps(start=start):
            return start in gpu.mps_starts, f"{place_text(start)} has no MPS daemon"
        case StopMps(start=start):
            return start not in gpu.mps_starts, f"{place_text(start)} still has an MPS daemon"
        case StartService(service=service) | CheckHealth(service=service):
            runs = any(one.service == service and one.healthy is not False for one in gpu.services)
            return runs, f"{service_text(service)} does not run with its settings"
        case StopService(service=service):
            runs = any(running.service.identity == service.identity for running in gpu.services)
            return not runs, f"{service_text(service)} still runs"


def _is(instance: LiveInstance | None, profile: str) -> bool:
    return instance is not None and instance.profile == profile


def _usable(
    step: CreateComputeInstance, instance: LiveInstance | None, profile: str, known: Mapping[Slot, str]
) -> str | None:
    if instance is None or instance.profile != profile or instance.uuid is None:
        return f"{profile} at {step.start} has no compute instance of its full size"
    if instance.uuid in known.values():
        return f"{profile} at {step.start} has the UUID {instance.uuid}, which another instance has or had"
    return None


def _bystanders(step: OnGpu, before: LiveGpu, after: LiveGpu, known: Mapping[Slot, str]) -> str | None:
    """Returns what changed on the GPU beside what the step is about: MIG mode, or another instance."""
    if not isinstance(step, SetMigMode | ResetGpu) and before.mig_enabled != after.mig_enabled:
        return f"MIG mode turned {'on' if after.mig_enabled else 'off'} by itself"
    own = getattr(step, "start", None) if not isinstance(step, StartService | StopService | CheckHealth) else None
    for instance in before.instances:
        found = after.instance(instance.start)
        if instance.start == own or isinstance(step, ResetGpu):
            continue
        if found is None or found.profile != instance.profile:
            return f"{instance.profile} at {instance.start} is gone, and no step is about it"
        expected = known.get(Slot(step.gpu_index, instance.start))
        if expected is not None and found.uuid != expected:
            return f"{instance.profile} at {instance.start} has the UUID {found.uuid}, not {expected} as before"
    return None
