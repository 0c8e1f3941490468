"""
A node without hardware that refuses what NVIDIA's driver refuses.

Rules (NVIDIA MIG User Guide; nvml.h): an instance needs MIG mode, a legal start, free slices and free engines; a
GPU instance is destroyed only after its compute instance, and a compute instance only when no client (here: its
MPS daemon or an attached process) uses it; MIG mode changes only on a GPU without instances, and on Ampere takes
effect with a reset. Instance ids are reused, UUIDs never.

An MPS daemon of a whole GPU holds that GPU: it needs MIG off, keeps the mode from changing, and takes a limited number
of clients. Two rules are stricter than NVIDIA's tools. A service whose daemon is missing is refused, where it would run
without MPS and its cap; and so is a stop of a daemon with clients, where it would wait for them.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...solver.model.catalogue import load_catalogue
from ...solver.model.hardware import Engine, Gpu, MigGeometry, MigProfile
from ..node import GpuState, Instance, NodeState, Share, mode_change_needs_reset, service_name
from ..steps import (
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    RestartService,
    SetMigMode,
    StartGpuMps,
    StartMps,
    StartService,
    Step,
    StopGpuMps,
    StopMps,
    StopService,
)
from .device import DeviceError

MEDIA_ENGINES: tuple[Engine, ...] = ("dec", "enc", "jpeg", "ofa")


@dataclass
class _LiveInstance:
    """A GPU instance as the driver keeps it."""

    gi_id: int
    profile: MigProfile
    start: int
    uuid: str | None
    """UUID of the MIG device; None: it has no compute instance."""
    mps_processes: int = 0
    """Processes behind its MPS daemon; 0: no daemon."""
    clients: set[int] = field(default_factory=set)
    """Process ids that hold it open, the daemon apart."""


@dataclass
class _LiveGpu:
    facts: Gpu
    geometry: MigGeometry | None
    mig_enabled: bool = False
    pending: bool = False
    """MIG mode that the next reset makes effective."""
    instances: list[_LiveInstance] = field(default_factory=list)
    services: dict[tuple[str, int], Share] | None = None
    """Clients of the MPS daemon of the whole GPU; None: no such daemon."""


class SimulatedNode:
    """GPUs of the catalogue, with the driver's rules."""

    def __init__(self, gpus: Mapping[int, str], seed: int = 0) -> None:
        self._gpus = {index: _live(load_catalogue()[name]) for index, name in gpus.items()}
        self._seed, self._created = seed, 0

    @classmethod
    def in_state(cls, state: NodeState) -> "SimulatedNode":
        """Returns a node that is in a state already; raises DeviceError if the rules forbid that state."""
        node = cls({index: gpu.gpu for index, gpu in state.items()})
        for index, gpu in state.items():
            live = node._gpus[index]
            live.mig_enabled = live.pending = gpu.mig_enabled
            for instance in sorted(gpu.instances):
                node._create(index, instance.profile, instance.start)
                if instance.processes > 1:
                    node._start_mps(index, instance.start, instance.processes)
            if gpu.shares:
                node._start_gpu_mps(index)
            for share in sorted(gpu.shares):
                node._start_service(index, share)
        return node

    def state(self) -> NodeState:
        """Returns what the node has now; a GPU instance without compute instance is not usable and left out."""
        return {
            index: GpuState(
                live.facts.name,
                live.mig_enabled,
                frozenset(
                    Instance(instance.start, instance.profile.name, max(instance.mps_processes, 1))
                    for instance in live.instances
                    if instance.uuid is not None
                ),
                frozenset((live.services or {}).values()),
            )
            for index, live in self._gpus.items()
        }

    def uuids(self, index: int) -> dict[int, str]:
        """Returns the UUIDs of the MIG devices of a GPU by the start of their instance."""
        return {one.start: one.uuid for one in self._gpus[index].instances if one.uuid is not None}

    def mps_gpus(self) -> set[int]:
        """Returns the GPUs with an MPS daemon for the whole GPU, with or without clients."""
        return {index for index, live in self._gpus.items() if live.services is not None}

    def attach(self, index: int, start: int, pid: int) -> None:
        """Lets a process hold an instance open, as a service does while it runs."""
        self._instance(index, start).clients.add(pid)

    def apply(self, step: Step) -> None:
        """Carries out a step; raises DeviceError where the driver would refuse, and then changes nothing."""
        match step:
            case SetMigMode():
                self._set_mode(step.gpu_index, step.enabled)
            case ResetGpu():
                self._reset(step.gpu_index)
            case CreateInstance():
                self._create(step.gpu_index, step.profile, step.start)
            case DestroyComputeInstance():
                self._destroy_compute(step.gpu_index, step.start)
            case DestroyInstance():
                self._destroy(step.gpu_index, step.start)
            case StartMps():
                self._start_mps(step.gpu_index, step.start, step.processes)
            case StopMps():
                self._instance(step.gpu_index, step.start).mps_processes = 0
            case StartGpuMps():
                self._start_gpu_mps(step.gpu_index)
            case StopGpuMps():
                self._stop_gpu_mps(step.gpu_index)
            case StartService():
                self._start_service(step.gpu_index, step.share)
            case RestartService():
                self._restart_service(step.gpu_index, step.share)
            case StopService():
                del self._with_service(step.gpu_index, step.share)[step.share.service]

    def _set_mode(self, index: int, enabled: bool) -> None:
        live = self._gpu(index)
        if live.geometry is None:
            raise DeviceError("NOT_SUPPORTED", 3, f"GPU {index} ({live.facts.name}) has no MIG")
        self._refuse_if_in_use(index, live)
        live.pending = enabled
        if not mode_change_needs_reset(live.facts):
            live.mig_enabled = enabled

    def _reset(self, index: int) -> None:
        live = self._gpu(index)
        self._refuse_if_in_use(index, live)
        live.mig_enabled = live.pending

    def _create(self, index: int, name: str, start: int) -> None:
        live = self._gpu(index)
        if not live.mig_enabled or live.geometry is None:
            state = "waits for a reset" if live.pending else "is off"
            raise DeviceError("NOT_SUPPORTED", 3, f"GPU {index}: MIG mode {state}")
        profile = live.geometry.profile(name)
        if profile is None or start not in profile.starts:
            raise DeviceError("INVALID_ARGUMENT", 2, f"GPU {index}: {name} cannot start at {start}")
        if reason := _no_room(live.geometry, live.instances, profile, start):
            raise DeviceError("INSUFFICIENT_RESOURCES", 23, f"GPU {index}: no room for {name} at {start}: {reason}")
        taken = {instance.gi_id for instance in live.instances}
        gi_id = next(number for number in range(1, len(taken) + 2) if number not in taken)
        self._created += 1
        name_of_device = f"{self._seed}/{index}/{self._created}"
        device_uuid = f"MIG-{uuid.uuid5(uuid.NAMESPACE_OID, name_of_device)}"
        live.instances.append(_LiveInstance(gi_id, profile, start, device_uuid))

    def _destroy_compute(self, index: int, start: int) -> None:
        instance = self._instance(index, start)
        if instance.mps_processes or instance.clients:
            holders = ", ".join(f"pid {pid}" for pid in sorted(instance.clients)) or "its MPS daemon"
            raise DeviceError("IN_USE", 19, f"GPU {index}: {instance.profile.name} at {start} is in use by {holders}")
        instance.uuid = None

    def _destroy(self, index: int, start: int) -> None:
        instance = self._instance(index, start)
        if instance.uuid is not None:
            message = f"GPU {index}: {instance.profile.name} at {start} still has a compute instance"
            raise DeviceError("IN_USE", 19, message)
        self._gpu(index).instances.remove(instance)

    def _start_mps(self, index: int, start: int, processes: int) -> None:
        instance = self._instance(index, start)
        if instance.uuid is None:
            raise DeviceError("NOT_FOUND", 6, f"GPU {index}: the instance at {start} has no compute instance")
        if instance.mps_processes:
            raise DeviceError("IN_USE", 19, f"GPU {index}: the instance at {start} has an MPS daemon already")
        limit = self._gpu(index).facts.mps_client_limit(instance.profile)
        if processes > limit:
            message = f"GPU {index}: {processes} MPS clients on {instance.profile.name}; at most {limit}"
            raise DeviceError("INSUFFICIENT_RESOURCES", 23, message)
        instance.mps_processes = processes

    def _start_gpu_mps(self, index: int) -> None:
        live = self._gpu(index)
        if live.mig_enabled:
            raise DeviceError("NOT_SUPPORTED", 3, f"GPU {index} is in MIG mode; each instance has its own MPS daemon")
        if live.services is not None:
            raise DeviceError("IN_USE", 19, f"GPU {index} has an MPS daemon already")
        live.services = {}

    def _stop_gpu_mps(self, index: int) -> None:
        if services := self._services(index):
            clients = ", ".join(service_name(share) for share in sorted(services.values()))
            raise DeviceError("IN_USE", 19, f"GPU {index}: its MPS daemon has clients: {clients}")
        self._gpu(index).services = None

    def _start_service(self, index: int, share: Share) -> None:
        services = self._services(index)
        if share.service in services:
            raise DeviceError("IN_USE", 19, f"GPU {index} runs {service_name(share)} already")
        self._refuse_too_many_clients(index, [*services.values(), share])
        services[share.service] = share

    def _restart_service(self, index: int, share: Share) -> None:
        services = self._with_service(index, share)
        self._refuse_too_many_clients(index, (services | {share.service: share}).values())
        services[share.service] = share

    def _refuse_too_many_clients(self, index: int, shares: Iterable[Share]) -> None:
        limit = self._gpu(index).facts.mps_client_limit(None)
        clients = sum(share.processes for share in shares)
        if clients > limit:
            message = f"GPU {index}: {clients} MPS clients; at most {limit}"
            raise DeviceError("INSUFFICIENT_RESOURCES", 23, message)

    def _services(self, index: int) -> dict[tuple[str, int], Share]:
        services = self._gpu(index).services
        if services is None:
            raise DeviceError("NOT_FOUND", 6, f"GPU {index} has no MPS daemon")
        return services

    def _with_service(self, index: int, share: Share) -> dict[tuple[str, int], Share]:
        """Returns the services of a GPU, of which the share's is one."""
        services = self._services(index)
        if share.service not in services:
            raise DeviceError("NOT_FOUND", 6, f"GPU {index} does not run {service_name(share)}")
        return services

    def _refuse_if_in_use(self, index: int, live: _LiveGpu) -> None:
        if live.instances:
            raise DeviceError("IN_USE", 19, f"GPU {index} has {len(live.instances)} MIG instance(s)")
        if live.services is not None:
            raise DeviceError("IN_USE", 19, f"GPU {index} has an MPS daemon")

    def _gpu(self, index: int) -> _LiveGpu:
        if index not in self._gpus:
            raise DeviceError("NOT_FOUND", 6, f"there is no GPU {index}")
        return self._gpus[index]

    def _instance(self, index: int, start: int) -> _LiveInstance:
        for instance in self._gpu(index).instances:
            if instance.start == start:
                return instance
        raise DeviceError("NOT_FOUND", 6, f"GPU {index} has no instance at {start}")


def _live(gpu: Gpu) -> _LiveGpu:
    return _LiveGpu(gpu, gpu.mig)


def _no_room(geometry: MigGeometry, present: list[_LiveInstance], profile: MigProfile, start: int) -> str | None:
    """Returns why an instance does not fit beside those that are there; None: it fits."""
    wanted = range(start, start + profile.memory_slices)
    for other in present:
        held = range(other.start, other.start + other.profile.memory_slices)
        if wanted.start < held.stop and held.start < wanted.stop:
            return f"{other.profile.name} holds slices {held.start} to {held.stop - 1}"
    compute = sum(other.profile.compute_slices for other in present) + profile.compute_slices
    if compute > geometry.compute_slices:
        return f"{compute} compute slices; there are {geometry.compute_slices}"
    if sum(other.profile.name == profile.name for other in present) >= profile.max_count:
        return f"at most {profile.max_count} of this profile"
    budget = geometry.full.engines or {}
    for engine in MEDIA_ENGINES if geometry.full.engines else ():
        profiles = [profile, *(other.profile for other in present)]
        taken = sum((one.engines or {}).get(engine, 0) for one in profiles)
        if taken > budget.get(engine, 0):
            return f"{taken} {engine.upper()} engines; there are {budget.get(engine, 0)}"
    return None
