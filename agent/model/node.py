"""
What a plan wants of a node, as plain data: per GPU its MIG mode, its instances, and the services on them; what it wants
of CPUs is in core_services.py.

A *slot* is where services run: a MIG instance, named by its start, or a whole GPU. What the driver reports of a node
is in `live.py`; `steps.py` leads from there to such a state.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ...solver.model.catalogue import load_catalogue
from ...solver.model.hardware import Gpu
from ...solver.model.plan import Partition, PlannedGpu, Served
from .core_services import CpuState
from .device_key import DeviceKey


class Slot(NamedTuple):
    """Where services run."""

    gpu_index: int
    start: int | None = None
    """Start of the MIG instance; None: the whole GPU."""


@dataclass(frozen=True, order=True)
class Instance:
    """A MIG GPU instance with one compute instance of its full size."""

    start: int
    profile: str


@dataclass(frozen=True, order=True)
class Round:
    """A round in which services take turns on a partition; their servers keep it, nothing here does."""

    duty_cycle_ms: float
    turns: Literal["fixed", "any"]
    """fixed: in this order, each in a slot that is kept; any: in any order."""
    workloads: tuple[str, ...]
    """Who takes turns."""


@dataclass(frozen=True)
class Service:
    """A workload that is served on one slot of a GPU."""

    workload: str
    start: int | None = None
    """Start of the MIG instance that it runs on; None: the whole GPU."""
    replica: int = 1
    """Tells services of one workload on one slot apart."""
    processes: int = 1
    batch: int = 1
    sm_percent: float | None = None
    """Most of the GPU's SMs that each process may use, fixed when it starts, nothing reserved; None: no cap."""
    memory_mib: float | None = None
    """GPU memory that each process may take; None: the plan does not know, and nothing limits it."""
    round: Round | None = None
    """The round of its partition; None: it has the partition for itself, back to back."""

    @property
    def identity(self) -> tuple[int, str, int]:
        """What stays the same when its settings change; sorts services of a GPU by slot and name."""
        return -1 if self.start is None else self.start, self.workload, self.replica


@dataclass(frozen=True)
class GpuState:
    """One GPU of a node."""

    gpu: str
    """Its type in the catalogue."""
    mig_enabled: bool
    instances: frozenset[Instance] = frozenset()
    services: frozenset[Service] = frozenset()

    def on(self, start: int | None) -> list[Service]:
        """Returns the services on one slot of the GPU."""
        return [service for service in in_order(self.services) if service.start == start]

    @property
    def mps_starts(self) -> frozenset[int | None]:
        """The slots that an MPS daemon serves, each by the start of its instance."""
        return frozenset(service.start for service in self.services if needs_mps(self.on(service.start)))


DeviceState = GpuState | CpuState

NodeState = Mapping[DeviceKey, DeviceState]
"""GPU or CPU -> state."""


def gpu_states(state: NodeState) -> dict[int, GpuState]:
    """Returns what is wanted of the GPUs, by their indices."""
    return {key: gpu for key, gpu in state.items() if isinstance(key, int) and isinstance(gpu, GpuState)}


def needs_mps(services: Iterable[Service]) -> bool:
    """Tells whether the services of a slot run behind an MPS daemon: for a cap, or for several processes of one."""
    return any(service.processes > 1 or service.sm_percent is not None for service in services)


def in_order(services: Iterable[Service]) -> list[Service]:
    """Returns services of a GPU by slot, name and replica."""
    return sorted(services, key=lambda service: service.identity)


def slot_name(slot: Slot) -> str:
    """Returns a name for files and units; no two slots of a node have the same."""
    return f"gpu{slot.gpu_index}" if slot.start is None else f"gpu{slot.gpu_index}-start{slot.start}"


def service_id(gpu_index: int, service: Service) -> str:
    """Returns a name for files and units; no two services of a node have the same."""
    replica = f"-{service.replica}" if service.replica > 1 else ""
    return f"{service.workload}-{slot_name(Slot(gpu_index, service.start))}{replica}"


def service_text(service: Service) -> str:
    """Returns a service's name on its slot, as a person reads it."""
    return service.workload if service.replica == 1 else f"{service.workload} (replica {service.replica})"


def place_text(start: int | None) -> str:
    """Returns a slot of a GPU, as a person reads it."""
    return "the whole GPU" if start is None else f"the instance at {start}"


def unused(state: DeviceState) -> DeviceState:
    """Returns the same GPU with MIG off and nothing on it, or the same CPU without services."""
    return CpuState(state.cpu) if isinstance(state, CpuState) else GpuState(state.gpu, mig_enabled=False)


def mode_change_needs_reset(gpu: Gpu) -> bool:
    """Tells whether switching MIG mode takes a GPU reset: on Ampere it does, from Hopper on it does not."""
    return gpu.architecture == "Ampere"


def planned_state(gpu: PlannedGpu) -> GpuState:
    """Returns the state that a plan wants of a GPU; sharing other than mig wants MIG off."""
    mig = gpu.sharing == "mig"
    instances = frozenset(_instance(partition) for partition in gpu.partitions) if mig else frozenset()
    return GpuState(gpu.gpu, mig, instances, _services(gpu))


def _instance(partition: Partition) -> Instance:
    if partition.mig_profile is None or partition.start is None:
        raise ValueError("a partition of a MIG GPU has no MIG profile or no start")
    return Instance(partition.start, partition.mig_profile)


def _services(gpu: PlannedGpu) -> frozenset[Service]:
    found = [
        Service(
            served.workload,
            partition.start if gpu.sharing == "mig" else None,
            processes=served.processes,
            batch=served.batch,
            sm_percent=_cap(gpu, partition, served),
            memory_mib=served.memory_mib,
            round=_round(partition),
        )
        for partition in gpu.partitions
        for served in partition.serves
    ]
    seen: Counter[tuple[int | None, str]] = Counter()
    services = []
    # Sorted, so that replicas are numbered alike whatever the order of a plan's partitions.
    for one in sorted(found, key=_settings):
        seen[one.start, one.workload] += 1
        replica = seen[one.start, one.workload]
        services.append(replace(one, replica=replica))
    return frozenset(services)


def _round(partition: Partition) -> Round | None:
    if partition.duty_cycle_ms is None:
        return None
    names = tuple(served.workload for served in partition.serves)
    return Round(partition.duty_cycle_ms, partition.turns or "fixed", names)


def _cap(gpu: PlannedGpu, partition: Partition, served: Served) -> float | None:
    """Returns the cap of each process: a plan's percentage is the share of all processes of a partition together."""
    if partition.sm_percent is None:
        return None
    return load_catalogue()[gpu.gpu].mps_process_percent(partition.sm_percent, served.processes)


def _settings(service: Service) -> tuple[object, ...]:
    """Returns everything of a service, in an order that tells apart what differs."""
    rounds = () if service.round is None else (service.round,)
    limits = (service.sm_percent or 0.0, service.processes, service.batch, service.memory_mib or 0.0)
    return (*service.identity, *limits, rounds)
