"""The processes that a plan puts on cores, each with the logical CPUs and the memory that are its own on the host."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...model.catalogue import load_cpus
from ...model.core_environment import thread_environment, threads_of
from ...model.cpu import Cpu
from ...model.division import in_turn, wrong_gpus
from ...model.errors import Finding, InputError
from ...model.host_cores import COMMAND, HostCores, cores_of_socket, cpu_list
from ...model.labels import in_comment
from ...model.parsing import grouped
from ...model.plan import Partition, Plan, PlannedGpu, Served
from ...model.words import counted
from .kubernetes_names import kubernetes_names
from .target import Options


@dataclass(frozen=True)
class CorePartition:
    """A partition of a CPU and the workload on it."""

    planned: PlannedGpu
    facts: Cpu
    number: int
    """Its index among the partitions of its CPU."""
    partition: Partition
    served: Served
    name: str
    """Of the workload, as RFC 1123 has it."""

    @property
    def cores(self) -> int:
        """Physical cores."""
        return self.partition.cores or 0

    @property
    def numbers(self) -> range:
        """Its cores as the plan counts them."""
        start = self.partition.start or 0
        return range(start, start + self.cores)

    @property
    def threads(self) -> int:
        """Threads of each of its processes."""
        return threads_of(self.cores, self.served.processes)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of each of its processes."""
        held = self.served.dispatch_after_ms
        variables = {"SLICEPLAN_BATCH_SIZE": str(self.served.batch)}
        if held is not None:
            variables["SLICEPLAN_DISPATCH_AFTER_MS"] = f"{held:g}"
        return {**variables, **thread_environment(self.threads)}

    @property
    def where(self) -> str:
        """How a message names it."""
        return f"{self.planned.id} partitions[{self.number}]"


@dataclass(frozen=True)
class CoreProcess:
    """One process, which has the cores of its partition together with the others there."""

    part: CorePartition
    number: int
    """From 1 on, among the processes of its workload on its node."""
    cpus: str
    """Logical CPUs, as `0-3,96-99`."""
    memory_nodes: str
    """NUMA nodes, likewise."""

    def comment(self, labels: Mapping[str, str]) -> str:
        """What it is, in words; `labels`: of the services that have one."""
        one = self.part
        # No id: it may hold any text, and this stands in scripts.
        of_them = f", one of {one.served.processes} processes there" if one.served.processes > 1 else ""
        at = f"{counted(one.cores, 'core')} of CPU {one.planned.index}, from its core {one.partition.start} on"
        return f"{in_comment(labels, one.served.workload)} on {at}{of_them}"


def core_partitions(plan: Plan, source: str) -> dict[str, tuple[CorePartition, ...]]:
    """
    Returns the partitions of CPUs that serve something by node, nodes by name, partitions in the order of the plan.

    Raises
    ------
    InputError
        If the plan has no CPUs, says of one what cannot be, lets workloads take turns on cores, or has a CPU that is
        not assigned to a node.
    """
    cpus = [gpu for gpu in plan.gpus if gpu.sharing == "cores"]
    if not cpus:
        message = "has no CPUs, and this format says which cores a service has; for GPUs take --format commands or dra"
        raise InputError([Finding(source, "gpus", message)])
    if findings := [Finding(source, *wrong) for wrong in (*wrong_gpus(plan), *_homeless(cpus, source))]:
        raise InputError(grouped(findings))
    names = kubernetes_names(served.workload for cpu in cpus for one in cpu.partitions for served in one.serves)
    parts = [
        CorePartition(cpu, load_cpus()[cpu.gpu], number, partition, served, names[served.workload])
        for cpu in cpus
        for number, partition in enumerate(cpu.partitions)
        for served in partition.serves
    ]
    turns = [(one, rounds) for one in parts if (rounds := in_turn(one.partition)) is not None]
    if turns:
        message = "serves {}, which nothing here keeps; plan with settings.turns: none"
        raise InputError([Finding(source, one.where, message.format(rounds)) for one, rounds in turns])
    nodes = sorted({cpu.node or "" for cpu in cpus})
    return {node: tuple(one for one in parts if one.planned.node == node) for node in nodes}


def workloads_of(plan: Plan) -> set[str]:
    """Returns the workloads that a plan serves, on whatever."""
    return {served.workload for gpu in plan.gpus for partition in gpu.partitions for served in partition.serves}


def _homeless(cpus: list[PlannedGpu], source: str) -> Iterator[tuple[str, str]]:
    """Yields that CPUs are on no node."""
    if homeless := [cpu.id for cpu in cpus if cpu.node is None]:
        shown = ", ".join(homeless[:3]) + (f" and {len(homeless) - 3} more" if len(homeless) > 3 else "")
        assign = f"sliceplan assign {source} --nodes NAME:COUNT:{cpus[0].gpu} -o {source}"
        yield "gpus", f"not assigned to nodes: {shown}; run: {assign}"


def core_processes(plan: Plan, options: Options) -> dict[str, tuple[CoreProcess, ...]]:
    """
    Returns the processes of each node with their CPUs.

    Raises
    ------
    InputError
        As `core_partitions`, and if the cores of a node are not told (`--lscpu`) or are others than the plan's.
    """
    parts = core_partitions(plan, options.source)
    hosts = hosts_of(parts, options.hosts)
    return {node: tuple(_processes(of_node, hosts[node])) for node, of_node in parts.items()}


def hosts_of(nodes: Mapping[str, object], known: Mapping[str, HostCores]) -> dict[str, HostCores]:
    """Returns the cores of each node's host; raises InputError if those of one are not told."""
    if missing := [node for node in nodes if node not in known]:
        run = f"run `{COMMAND} > {missing[0]}.lscpu` there, and give --lscpu {missing[0]}={missing[0]}.lscpu"
        message = f"is missing for {', '.join(missing)}: how the kernel numbers cores differs from host to host; {run}"
        raise InputError([Finding("--lscpu", "", message)])
    return {node: known[node] for node in nodes}


def socket_of(one: CorePartition, host: HostCores) -> HostCores:
    """Returns the cores of the socket of a partition, in the plan's order; InputError as `cores_of_socket`."""
    return cores_of_socket(host, one.planned.index or 0, one.facts, f"--lscpu of {one.planned.node}")


def _processes(parts: tuple[CorePartition, ...], host: HostCores) -> Iterator[CoreProcess]:
    sockets = {one.planned.id: socket_of(one, host) for one in parts}
    numbers: Counter[str] = Counter()
    for one in parts:
        cores = [sockets[one.planned.id][number] for number in one.numbers]
        cpus, nodes = cpu_list(cpu for core in cores for cpu in core.cpus), cpu_list(core.node for core in cores)
        for _ in range(one.served.processes):
            numbers[one.name] += 1
            yield CoreProcess(one, numbers[one.name], cpus, nodes)


SHARED = (
    "Where a partition has several processes, each runs its part of the cores as threads, and all have all of its "
    "cores: measure them so."
)

GPUS_APART = "The GPUs of the plan are not in these files: export them by another format, as commands or deployments."

THREADS = (
    "Threads are told by OMP_NUM_THREADS, TVM_NUM_THREADS and SLICEPLAN_THREADS, one a physical core; a server that "
    "reads none of them (ONNX Runtime, OpenVINO) must be given the last by its own options."
)


def notes_on_cores(plan: Plan, parts: Mapping[str, tuple[CorePartition, ...]]) -> tuple[str, ...]:
    """Returns what a reader of any form of a plan's cores must know."""
    several = any(one.served.processes > 1 for of_node in parts.values() for one in of_node)
    gpus = any(gpu.sharing != "cores" for gpu in plan.gpus)
    return (THREADS, *((SHARED,) if several else ()), *((GPUS_APART,) if gpus else ()))
