"""
The GPUs of this node: NVML for MIG, nvidia-smi for the reset that NVML lacks, MPS daemons, and services.

On hardware only reading, MPS and services were tried (docs/explanation/on-a-gpu.md). All of it is tested against
NVIDIA's binding with the library behind it replaced by the simulated node, and with stand-ins for NVIDIA's tools that
note what they are told.
"""

import os
from collections.abc import Callable

from ...model.core_steps import CoreStep
from ...model.device_error import DeviceError
from ...model.live import Client, LiveGpu, LiveNode, MpsDaemon, RunningService
from ...model.node import Service, Slot, needs_mps, place_text, service_text, slot_name
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
    Step,
    StopMps,
    StopService,
)
from ...services.host import ServiceHost
from ...services.launch import SlotDevice
from ...system import processes
from ..mps_daemons import MpsDaemons
from . import changing
from .reading import SeenGpu, read_gpu, read_gpus
from .session import opened, said, within

READ_S = 30.0
"""Limit of a read-back."""


class NvmlNode:
    """A Device: the GPUs of this node."""

    def __init__(self, mps: MpsDaemons, services: ServiceHost) -> None:
        self._mps = mps
        self._services = services

    def state(self) -> LiveNode:
        """Returns what the driver reports now, with the daemons and services that the agent started."""
        seen = within(READ_S, "NVML", _read_all)
        daemons, services = self._mps.running(), self._services.running()
        own = {os.getpid(), *daemons.values(), *self._services.pids()}
        return {gpu.index: _live(gpu, daemons, services, own) for gpu in seen}

    def apply(self, step: Step, timeout_s: float) -> None:
        """Carries out a step on a GPU; raises DeviceError as the protocol says."""
        if isinstance(step, CoreStep):
            raise DeviceError("NOT_SUPPORTED", f"CPU {step.cpu_index} is not this agent's: it divides no CPUs here")
        index = step.gpu_index
        match step:
            case ResetGpu():
                self._reset(index, timeout_s)
            case StartMps():
                self._start_mps(step.slot, timeout_s)
            case StopMps():
                self._stop_mps(step.slot, timeout_s)
            case StartService(service=service):
                self._start_service(step.slot, service)
            case StopService(service=service):
                self._stop_service(step.slot, service, timeout_s)
            case CheckHealth(service=service):
                self._services.check_health(step.slot, service, self._device(step.slot), timeout_s)
            case _:
                within(timeout_s, f"GPU {index}", lambda: self._change(step))

    def _change(self, step: OnGpu) -> None:
        """Carries out a step on MIG, in a session of its own."""
        index = step.gpu_index
        with opened() as nvml:
            match step:
                case SetMigMode(enabled=enabled):
                    changing.set_mig_mode(nvml, index, enabled, self._holders(index, None))
                case CreateInstance(profile=profile, start=start):
                    changing.create_instance(nvml, index, profile, start)
                case CreateComputeInstance(start=start):
                    changing.create_compute_instance(nvml, index, start)
                case DestroyComputeInstance(start=start):
                    changing.destroy_compute_instances(nvml, index, start, self._holders(index, start))
                case DestroyInstance(start=start):
                    changing.destroy_instance(nvml, index, start, self._holders(index, start))

    def _reset(self, index: int, timeout_s: float) -> None:
        """Resets one GPU, and only if its MIG mode waits for it; NVML has no call for that."""

        def look() -> tuple[bool, SeenGpu]:
            with opened() as nvml:
                return changing.reset_is_due(nvml, index), read_gpu(nvml, index)

        is_due, gpu = within(READ_S, f"GPU {index}", look)
        if not is_due:
            return
        if pids := self._holders(index, None)():
            raise DeviceError("IN_USE", f"GPU {index} cannot be reset: it is in use", pids)
        try:
            processes.run_tool(["nvidia-smi", "-i", gpu.uuid, "--gpu-reset"], timeout_s)
        except DeviceError as error:
            hint = "GPUs behind an NVSwitch need fabric manager; some virtual machines forbid it: reboot then"
            message = f"GPU {index} cannot be reset: {error.message}"
            raise DeviceError(error.name, message, self._holders(index, None)(), hint, number=error.number) from error

    def _start_mps(self, slot: Slot, timeout_s: float) -> None:
        if slot_name(slot) in self._mps.running():
            message = f"GPU {slot.gpu_index}: {place_text(slot.start)} has an MPS daemon already"
            raise DeviceError("IN_USE", message)
        self._mps.start(slot, self._device(slot).uuid, timeout_s)

    def _stop_mps(self, slot: Slot, timeout_s: float) -> None:
        place = f"GPU {slot.gpu_index}: the MPS daemon of {place_text(slot.start)}"
        if slot_name(slot) not in self._mps.running():
            raise DeviceError("NOT_FOUND", f"{place} does not run")
        if clients := self._services.running().get(slot, []):
            pids = [pid for one in clients for pid in one.pids]
            names = ", ".join(service_text(one.service) for one in clients)
            raise DeviceError("IN_USE", f"{place} has clients ({names}); it is in use", pids)
        self._mps.stop(slot, timeout_s)

    def _start_service(self, slot: Slot, service: Service) -> None:
        device = self._device(slot)
        name = f"GPU {slot.gpu_index}: {service_text(service)} on {place_text(slot.start)}"
        there = [one for one in self._services.running().get(slot, []) if one.healthy is not False]
        if any(one.service.identity == service.identity for one in there):
            raise DeviceError("IN_USE", f"{name} runs already")
        if needs_mps([service]) and device.mps_folder is None:
            raise DeviceError("NOT_FOUND", f"{name} needs an MPS daemon, and there is none")
        self._services.start(slot, service, device)

    def _stop_service(self, slot: Slot, service: Service, timeout_s: float) -> None:
        def before_kill(pids: list[int]) -> None:
            if slot_name(slot) in self._mps.running():
                self._mps.terminate_clients(slot, pids)

        self._services.stop(slot, service, timeout_s, before_kill)

    def _device(self, slot: Slot) -> SlotDevice:
        """Returns the device that a slot is now, read anew: the UUID of an instance changes with each creation."""

        def look() -> SeenGpu:
            with opened() as nvml, said(nvml, f"GPU {slot.gpu_index} cannot be read"):
                return read_gpu(nvml, slot.gpu_index)

        gpu = within(READ_S, f"GPU {slot.gpu_index}", look)
        folder = self._mps.folder(slot) if slot_name(slot) in self._mps.running() else None
        if slot.start is None:
            if gpu.mig_enabled:
                message = f"GPU {slot.gpu_index} is in MIG mode; only its instances are used"
                raise DeviceError("NOT_SUPPORTED", message)
            return SlotDevice(gpu.uuid, None, folder)
        uuid = next((one.uuid for one in gpu.instances if one.start == slot.start), None)
        if uuid is None:
            message = f"GPU {slot.gpu_index}: there is no usable instance at {slot.start}"
            raise DeviceError("NOT_FOUND", message)
        return SlotDevice(gpu.uuid, uuid, folder)

    def _holders(self, index: int, start: int | None) -> Callable[[], list[int]]:
        """Returns a function that finds who holds an instance, or a GPU: what NVML counts, and open device files."""

        def find() -> list[int]:
            with opened() as nvml, said(nvml, f"GPU {index} cannot be read"):
                gpu = read_gpu(nvml, index)
            counted = {one.pid for one in gpu.processes if start is None or one.start == start}
            files = [f"/dev/nvidia{gpu.minor}"] if start is None and gpu.minor is not None else []
            return sorted((counted | set(processes.holders(files) if files else ())) - {os.getpid()})

        return find


def _read_all() -> list[SeenGpu]:
    with opened() as nvml, said(nvml, "the GPUs cannot be read"):
        return list(read_gpus(nvml))


def _live(gpu: SeenGpu, daemons: dict[str, int], services: dict[Slot, list[RunningService]], own: set[int]) -> LiveGpu:
    starts = [None, *(one.start for one in gpu.instances)]
    slots = {start: slot_name(Slot(gpu.index, start)) for start in starts}
    return LiveGpu(
        gpu.gpu,
        gpu.uuid,
        gpu.mig_enabled,
        gpu.mig_pending,
        gpu.instances,
        tuple(MpsDaemon(start, daemons[name]) for start, name in slots.items() if name in daemons),
        tuple(one for slot, found in services.items() if slot.gpu_index == gpu.index for one in found),
        tuple(
            Client(one.pid, processes.name_of(one.pid), one.start)
            for one in gpu.processes
            if not processes.belongs_to(one.pid, own)
        ),
    )
