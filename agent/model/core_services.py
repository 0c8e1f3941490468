"""
What a plan wants of a CPU of a node: which services run on which of its cores.

A partition of a CPU serves one workload, so service and partition are one here. It has cores of its own, counted as the
plan counts them (solver/model/host_cores.py): from `start` on, `cores` of them. Services of one workload with the same
settings are alike but for their places; one keeps on serving where only its place changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...solver.model.core_environment import threads_of
from ...solver.model.host_cores import HostCores, cpu_list
from ...solver.model.plan import PlannedGpu


@dataclass(frozen=True, order=True)
class CoreService:
    """A workload that is served on cores of a CPU."""

    workload: str
    start: int
    """The first of its cores."""
    cores: int
    """Physical cores, which nobody else of the plan has."""
    processes: int = 1
    batch: int = 1

    @property
    def held(self) -> range:
        """Its cores."""
        return range(self.start, self.start + self.cores)

    @property
    def kind(self) -> tuple[str, int, int, int]:
        """All but its place: what a process takes over only when it starts."""
        return self.workload, self.cores, self.processes, self.batch

    @property
    def threads(self) -> int:
        """Threads of each of its processes."""
        return threads_of(self.cores, self.processes)


@dataclass(frozen=True)
class CpuState:
    """One CPU of a node."""

    cpu: str
    """Its type in the catalogue."""
    services: frozenset[CoreService] = frozenset()


def planned_cpu(cpu: PlannedGpu) -> CpuState:
    """Returns the state that a plan wants of a CPU, of which it says nothing wrong (solver/model/division.py)."""
    return CpuState(
        cpu.gpu,
        frozenset(
            CoreService(served.workload, partition.start or 0, partition.cores or 0, served.processes, served.batch)
            for partition in cpu.partitions
            for served in partition.serves
        ),
    )


def core_text(service: CoreService) -> str:
    """Returns cores, as a person reads them."""
    return f"core {service.start}" if service.cores == 1 else f"cores {service.start}-{service.held.stop - 1}"


def by_place(services: Iterable[CoreService]) -> list[CoreService]:
    """Returns services in the order of their cores."""
    return sorted(services, key=lambda one: (one.start, one))


def logical_cpus(cores: HostCores, service: CoreService) -> str:
    """Returns the logical CPUs of a service's cores on the host, both threads of each, as Linux writes them."""
    return cpu_list(cpu for core in cores[service.start : service.held.stop] for cpu in core.cpus)


def memory_nodes(cores: HostCores, service: CoreService) -> str:
    """Returns the NUMA nodes of a service's cores, as Linux writes them."""
    return cpu_list(core.node for core in cores[service.start : service.held.stop])
