"""
What a node has and runs, as the driver reports it at one moment: the raw read-back that everything is compared with.

Beyond the state that a plan can want, it holds what changes (ids, UUIDs, process ids), what is halfway (a MIG mode that
waits for a reset, a GPU instance without compute instance) and what is not the agent's (processes that it did not
start). Instances are known by GPU and start: ids are reused, and a UUID changes whenever an instance is made anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ...solver.model.host_cores import HostCores
from .core_services import CoreService, CpuState
from .device_key import DeviceKey
from .node import GpuState, Instance, NodeState, Service, Slot


@dataclass(frozen=True)
class LiveInstance:
    """A GPU instance, with or without compute instances."""

    start: int
    profile: str
    gi_id: int
    ci_ids: tuple[int, ...] = ()
    uuid: str | None = None
    """UUID of its MIG device; None: not usable, for want of exactly one compute instance of its full size."""


@dataclass(frozen=True)
class MpsDaemon:
    """An MPS control daemon of this agent."""

    start: int | None
    """Start of the instance that it serves; None: the whole GPU."""
    pid: int


@dataclass(frozen=True)
class RunningService:
    """A service that this agent started, with the settings that it was started with."""

    service: Service
    pids: tuple[int, ...]
    healthy: bool | None = None
    """
    What its last health check said; None: it has none, or was not asked yet. False also if some of its processes
    have ended: it is to be stopped and started.
    """


@dataclass(frozen=True)
class Client:
    """A process that holds a GPU or an instance open and that this agent did not start."""

    pid: int
    name: str = ""
    start: int | None = None
    """Start of the instance that it holds; None: the GPU as a whole."""


@dataclass(frozen=True)
class LiveGpu:
    """One GPU of the node."""

    gpu: str
    """Its type in the catalogue; what the driver calls it where the catalogue has no such type."""
    uuid: str
    mig_enabled: bool = False
    mig_pending: bool = False
    """MIG mode after the next reset; differs from `mig_enabled` only while one is due."""
    instances: tuple[LiveInstance, ...] = ()
    daemons: tuple[MpsDaemon, ...] = ()
    services: tuple[RunningService, ...] = ()
    clients: tuple[Client, ...] = ()

    def instance(self, start: int | None) -> LiveInstance | None:
        """Returns the instance that starts there, None if there is none."""
        return next((instance for instance in self.instances if instance.start == start), None)

    @property
    def mps_starts(self) -> frozenset[int | None]:
        """The slots that have an MPS daemon."""
        return frozenset(daemon.start for daemon in self.daemons)


@dataclass(frozen=True)
class RunningOnCores:
    """A service on cores of a CPU that this agent started."""

    name: str
    """Name for files and units, which it keeps wherever it moves."""
    service: CoreService
    """Its settings, with the cores that it was given last."""
    pids: tuple[int, ...]
    healthy: bool | None = None
    """As of a service of a GPU."""
    found_on: str | None = None
    """What the kernel lets it have, in words, where that is not its cores and their memory; None: it is."""
    by_affinity: bool = False
    """Whether the affinity of its threads keeps it there, as of a plain process; False: a slice does."""


@dataclass(frozen=True)
class LiveCpu:
    """One CPU of the node: its cores as the host has them, and the services of this agent on them."""

    cores: HostCores
    """In the order in which a plan counts them."""
    services: tuple[RunningOnCores, ...] = ()

    def running(self, name: str) -> RunningOnCores | None:
        """Returns the service of that name, None if it does not run."""
        return next((one for one in self.services if one.name == name), None)


LiveNode = Mapping[DeviceKey, LiveGpu | LiveCpu]
"""GPU or CPU -> what is there."""


def gpus_of(live: LiveNode) -> dict[int, LiveGpu]:
    """Returns the GPUs of a node by their indices."""
    return {key: gpu for key, gpu in live.items() if isinstance(key, int) and isinstance(gpu, LiveGpu)}


def cpus_of(live: LiveNode) -> dict[DeviceKey, LiveCpu]:
    """Returns the CPUs of a node."""
    return {key: cpu for key, cpu in live.items() if isinstance(cpu, LiveCpu)}


def settled(live: LiveNode, wanted: NodeState | None = None) -> NodeState:
    """
    Returns what is usable of a node as a state that can be reached again; what is halfway is left out.

    Parameters
    ----------
    wanted
        Tells the types of the CPUs, which no driver does; a CPU that it does not name is left out.
    """
    types = wanted or {}
    cpus = {key: (cpu, types[key]) for key, cpu in cpus_of(live).items() if key in types}
    return {
        **{index: _settled(gpu) for index, gpu in gpus_of(live).items()},
        **{key: _settled_cpu(cpu, state) for key, (cpu, state) in cpus.items() if isinstance(state, CpuState)},
    }


def device_uuid(live: LiveNode, slot: Slot) -> str | None:
    """Returns the UUID that CUDA_VISIBLE_DEVICES takes for a slot; None: there is no such device now."""
    gpu = gpus_of(live).get(slot.gpu_index)
    if gpu is None or slot.start is None:
        return gpu.uuid if gpu else None
    instance = gpu.instance(slot.start)
    return instance.uuid if instance else None


def instance_uuids(live: LiveNode) -> dict[Slot, str]:
    """Returns the UUIDs of all MIG devices."""
    return {
        Slot(index, instance.start): instance.uuid
        for index, gpu in gpus_of(live).items()
        for instance in gpu.instances
        if instance.uuid is not None
    }


def _settled(gpu: LiveGpu) -> GpuState:
    usable = frozenset(Instance(one.start, one.profile) for one in gpu.instances if one.uuid is not None)
    starts = {one.start for one in usable}
    services = frozenset(
        running.service for running in gpu.services if running.service.start is None or running.service.start in starts
    )
    return GpuState(gpu.gpu, gpu.mig_enabled, usable, services)


def _settled_cpu(cpu: LiveCpu, wanted: CpuState) -> CpuState:
    return CpuState(wanted.cpu, frozenset(one.service for one in cpu.services))
