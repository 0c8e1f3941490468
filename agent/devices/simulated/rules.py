"""
What each step makes of a GPU, and when NVIDIA's driver refuses it.

Rules (NVIDIA MIG User Guide; nvml.h): an instance needs MIG mode, a legal start, free slices and free engines; a
GPU instance is destroyed only after its compute instances, and those only when no process uses them; MIG mode changes
only on a GPU without instances and processes, and on Ampere takes effect with a reset. A reset needs a GPU without
processes, and ends its instances. An MPS daemon serves one instance, or a whole GPU with MIG off, and takes a limited
number of clients. Instance ids are reused, UUIDs never.

Three rules are stricter than NVIDIA's tools. A service that needs a daemon is refused without one, where it would run
without its cap; a stop of a daemon with clients is refused, where it would wait for them; and so is a change of MIG
mode on Ampere while the GPU is in use, where it would wait for the next reset.
"""

import uuid
from dataclasses import replace

from ....solver.model.catalogue import load_catalogue
from ....solver.model.hardware import Gpu, MigGeometry, MigProfile
from ...model.device_error import DeviceError
from ...model.live import LiveGpu, LiveInstance, MpsDaemon, RunningService
from ...model.node import Service, mode_change_needs_reset, needs_mps, place_text, service_text
from ...model.steps import (
    CheckHealth,
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    OnGpu,
    ResetGpu,
    SetMigMode,
    StartMps,
    StartService,
    StopMps,
    StopService,
)
from .room import no_room


def carried_out(gpu: LiveGpu, step: OnGpu, serial: int, origin: str) -> LiveGpu:
    """
    Returns what a step makes of its GPU.

    Parameters
    ----------
    serial
        A number that no other step of the node has; UUIDs and process ids come from it.
    origin
        What tells its UUIDs from those of other nodes.

    Raises
    ------
    DeviceError
        Where the driver would refuse.
    """
    index = step.gpu_index
    match step:
        case SetMigMode(enabled=enabled):
            return _with_mode(gpu, index, enabled)
        case ResetGpu():
            _refuse_if_processes_run(gpu, index)
            return replace(gpu, mig_enabled=gpu.mig_pending, instances=())
        case CreateInstance(profile=profile, start=start):
            return _with_instance(gpu, index, profile, start)
        case CreateComputeInstance(start=start):
            return _with_compute_instance(gpu, index, start, f"{origin}/{gpu.uuid}/{serial}")
        case DestroyComputeInstance(start=start):
            return _without_compute_instances(gpu, index, start)
        case DestroyInstance(start=start):
            return _without_instance(gpu, index, start)
        case StartMps(start=start):
            return _with_daemon(gpu, index, start, serial)
        case StopMps(start=start):
            return _without_daemon(gpu, index, start)
        case StartService(service=service):
            return _with_service(gpu, index, service, serial)
        case StopService(service=service):
            running = _running(gpu, index, service)
            return replace(gpu, services=tuple(one for one in gpu.services if one is not running))
        case CheckHealth(service=service):
            _running(gpu, index, service)
            return gpu


def rebooted(gpu: LiveGpu) -> LiveGpu:
    """Returns what a reboot leaves: no instance, no process, and from Hopper on no MIG mode either."""
    enabled = gpu.mig_pending and mode_change_needs_reset(_facts(gpu))
    return LiveGpu(gpu.gpu, gpu.uuid, enabled, enabled)


def _facts(gpu: LiveGpu) -> Gpu:
    return load_catalogue()[gpu.gpu]


def _with_mode(gpu: LiveGpu, index: int, enabled: bool) -> LiveGpu:
    if _facts(gpu).mig is None:
        raise DeviceError("NOT_SUPPORTED", f"GPU {index} ({gpu.gpu}) has no MIG")
    if gpu.instances:
        raise DeviceError("IN_USE", f"GPU {index} has {len(gpu.instances)} MIG instance(s)")
    _refuse_if_processes_run(gpu, index)
    effective = gpu.mig_enabled if mode_change_needs_reset(_facts(gpu)) else enabled
    return replace(gpu, mig_enabled=effective, mig_pending=enabled)


def _with_instance(gpu: LiveGpu, index: int, name: str, start: int) -> LiveGpu:
    geometry = _facts(gpu).mig
    if not gpu.mig_enabled or geometry is None:
        state = "waits for a reset" if gpu.mig_pending else "is off"
        raise DeviceError("NOT_SUPPORTED", f"GPU {index}: MIG mode {state}")
    profile = geometry.profile(name)
    if profile is None or start not in profile.starts:
        raise DeviceError("INVALID_ARGUMENT", f"GPU {index}: {name} cannot start at {start}")
    present = [(one.start, _profile(geometry, one)) for one in gpu.instances]
    if reason := no_room(geometry, present, profile, start):
        raise DeviceError("INSUFFICIENT_RESOURCES", f"GPU {index}: no room for {name} at {start}: {reason}")
    taken = {instance.gi_id for instance in gpu.instances}
    gi_id = next(number for number in range(1, len(taken) + 2) if number not in taken)
    return replace(gpu, instances=(*gpu.instances, LiveInstance(start, name, gi_id)))


def _with_compute_instance(gpu: LiveGpu, index: int, start: int, made_from: str) -> LiveGpu:
    instance = _instance(gpu, index, start)
    if instance.ci_ids:
        message = f"GPU {index}: {instance.profile} at {start} is full: it has a compute instance"
        raise DeviceError("INSUFFICIENT_RESOURCES", message)
    made = f"MIG-{uuid.uuid5(uuid.NAMESPACE_OID, made_from)}"
    return _exchanged(gpu, replace(instance, ci_ids=(0,), uuid=made))


def _without_compute_instances(gpu: LiveGpu, index: int, start: int) -> LiveGpu:
    instance = _instance(gpu, index, start)
    if not instance.ci_ids:
        raise DeviceError("NOT_FOUND", f"GPU {index}: {instance.profile} at {start} has no compute instance")
    if pids := _pids(gpu, start):
        raise DeviceError("IN_USE", f"GPU {index}: {instance.profile} at {start} is in use", pids)
    return _exchanged(gpu, replace(instance, ci_ids=(), uuid=None))


def _without_instance(gpu: LiveGpu, index: int, start: int) -> LiveGpu:
    instance = _instance(gpu, index, start)
    if instance.ci_ids:
        message = f"GPU {index}: {instance.profile} at {start} still has a compute instance"
        raise DeviceError("IN_USE", message)
    if pids := _pids(gpu, start):
        raise DeviceError("IN_USE", f"GPU {index}: {instance.profile} at {start} is in use", pids)
    return replace(gpu, instances=tuple(one for one in gpu.instances if one.start != start))


def _with_daemon(gpu: LiveGpu, index: int, start: int | None, serial: int) -> LiveGpu:
    if start in gpu.mps_starts:
        raise DeviceError("IN_USE", f"GPU {index}: {place_text(start)} has an MPS daemon already")
    _refuse_unusable(gpu, index, start)
    return replace(gpu, daemons=(*gpu.daemons, MpsDaemon(start, _pid(serial, 0))))


def _without_daemon(gpu: LiveGpu, index: int, start: int | None) -> LiveGpu:
    if start not in gpu.mps_starts:
        raise DeviceError("NOT_FOUND", f"GPU {index}: {place_text(start)} has no MPS daemon")
    clients = [one for one in gpu.services if one.service.start == start]
    if clients:
        names = ", ".join(service_text(one.service) for one in clients)
        pids = [pid for one in clients for pid in one.pids]
        message = f"GPU {index}: the MPS daemon of {place_text(start)} has clients ({names}); it is in use"
        raise DeviceError("IN_USE", message, pids)
    return replace(gpu, daemons=tuple(one for one in gpu.daemons if one.start != start))


def _with_service(gpu: LiveGpu, index: int, service: Service, serial: int) -> LiveGpu:
    _refuse_unusable(gpu, index, service.start)
    name = service_text(service)
    if any(one.service.identity == service.identity for one in gpu.services):
        raise DeviceError("IN_USE", f"GPU {index} runs {name} on {place_text(service.start)} already")
    if service.start in gpu.mps_starts:
        _refuse_too_many_clients(gpu, index, service)
    elif needs_mps([service]):
        raise DeviceError("NOT_FOUND", f"GPU {index}: {place_text(service.start)} has no MPS daemon for {name}")
    pids = tuple(_pid(serial, number) for number in range(service.processes))
    return replace(gpu, services=(*gpu.services, RunningService(service, pids)))


def _refuse_too_many_clients(gpu: LiveGpu, index: int, service: Service) -> None:
    facts = _facts(gpu)
    instance = gpu.instance(service.start)
    limit = facts.mps_client_limit(_profile(facts.mig, instance) if instance and facts.mig else None)
    clients = sum(one.service.processes for one in gpu.services if one.service.start == service.start)
    clients += service.processes
    if clients > limit:
        message = f"GPU {index}: {clients} MPS clients on {place_text(service.start)}; at most {limit}"
        raise DeviceError("INSUFFICIENT_RESOURCES", message)


def _refuse_unusable(gpu: LiveGpu, index: int, start: int | None) -> None:
    """Refuses what is to run on a slot that is none: a whole GPU in MIG mode, an instance without compute instance."""
    if start is None and gpu.mig_enabled:
        raise DeviceError("NOT_SUPPORTED", f"GPU {index} is in MIG mode; only its instances are used")
    if start is not None and _instance(gpu, index, start).uuid is None:
        raise DeviceError("NOT_FOUND", f"GPU {index}: the instance at {start} has no compute instance")


def _refuse_if_processes_run(gpu: LiveGpu, index: int) -> None:
    pids = [one.pid for one in gpu.clients] + [pid for one in gpu.services for pid in one.pids]
    pids += [one.pid for one in gpu.daemons]
    if pids:
        raise DeviceError("IN_USE", f"GPU {index} is in use", pids)


def _pids(gpu: LiveGpu, start: int) -> list[int]:
    """Returns the processes that hold an instance."""
    pids = [pid for one in gpu.services if one.service.start == start for pid in one.pids]
    pids += [one.pid for one in gpu.daemons if one.start == start]
    return pids + [one.pid for one in gpu.clients if one.start == start]


def _running(gpu: LiveGpu, index: int, service: Service) -> RunningService:
    for one in gpu.services:
        if one.service.identity == service.identity:
            return one
    where = place_text(service.start)
    raise DeviceError("NOT_FOUND", f"GPU {index} does not run {service_text(service)} on {where}")


def _instance(gpu: LiveGpu, index: int, start: int) -> LiveInstance:
    instance = gpu.instance(start)
    if instance is None:
        raise DeviceError("NOT_FOUND", f"GPU {index} has no instance at {start}")
    return instance


def _exchanged(gpu: LiveGpu, instance: LiveInstance) -> LiveGpu:
    return replace(gpu, instances=tuple(instance if one.start == instance.start else one for one in gpu.instances))


def _profile(geometry: MigGeometry, instance: LiveInstance) -> MigProfile:
    profile = geometry.profile(instance.profile)
    if profile is None:
        raise DeviceError("INVALID_ARGUMENT", f"{instance.profile} is no MIG profile of this GPU")
    return profile


def _pid(serial: int, number: int) -> int:
    return 1000 + 100 * serial + number
