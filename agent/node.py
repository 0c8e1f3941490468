"""What a node has and runs, as plain data: the state that steps change and that is read back."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..solver.model.hardware import Gpu
from ..solver.model.plan import Partition, PlannedGpu


@dataclass(frozen=True, order=True)
class Instance:
    """A MIG GPU instance with a compute instance of its full size."""

    start: int
    profile: str
    processes: int = field(default=1, compare=False)
    """Processes that run in it; more than one go through an MPS daemon of its own."""


@dataclass(frozen=True, order=True)
class Share:
    """A service behind the MPS daemon of a whole GPU."""

    workload: str
    sm_percent: float
    """Most of the GPU's SMs that each of its processes may use, fixed when a process starts; nothing is reserved."""
    processes: int = 1
    replica: int = 1
    """Tells services of one workload on one GPU apart."""
    memory_mib: float | None = None
    """GPU memory that each process may take; None: the plan does not know, and nothing limits it."""

    @property
    def service(self) -> tuple[str, int]:
        """What stays the same when the percentage or the processes change: workload and replica."""
        return self.workload, self.replica


@dataclass(frozen=True)
class GpuState:
    """One GPU of a node."""

    gpu: str
    mig_enabled: bool
    instances: frozenset[Instance] = frozenset()
    shares: frozenset[Share] = frozenset()
    """Services behind one MPS daemon for the whole GPU, which runs while there are any; only with MIG off."""


NodeState = Mapping[int, GpuState]
"""GPU index -> state."""


def planned_state(gpu: PlannedGpu) -> GpuState:
    """Returns the state that a plan wants of a GPU; sharing other than mig wants MIG off."""
    if gpu.sharing != "mig":
        return GpuState(gpu.gpu, mig_enabled=False, shares=_shares(gpu))
    return GpuState(gpu.gpu, mig_enabled=True, instances=frozenset(_instance(part) for part in gpu.partitions))


def service_name(share: Share) -> str:
    """Returns a service's name on its GPU, as a person reads it."""
    return share.workload if share.replica == 1 else f"{share.workload} (replica {share.replica})"


def unused(state: GpuState) -> GpuState:
    """Returns the same GPU with MIG off and nothing on it."""
    return GpuState(state.gpu, mig_enabled=False)


def mode_change_needs_reset(gpu: Gpu) -> bool:
    """Tells whether switching MIG mode takes a GPU reset: on Ampere it does, from Hopper on it does not."""
    return gpu.architecture == "Ampere"


def _instance(partition: Partition) -> Instance:
    if partition.mig_profile is None or partition.start is None:
        raise ValueError("a partition of a MIG GPU has no MIG profile or no start")
    return Instance(
        partition.start, partition.mig_profile, max((served.processes for served in partition.serves), default=1)
    )


def _shares(gpu: PlannedGpu) -> frozenset[Share]:
    """Returns the services that take an MPS daemon: all under mps, those of several processes on a GPU used whole."""
    shared = gpu.sharing == "mps"
    wanted = [
        (served.workload, _percent(partition) if shared else 100.0, served.processes, served.memory_mib or 0.0)
        for partition in gpu.partitions
        for served in partition.serves
        if shared or served.processes > 1
    ]
    seen: Counter[str] = Counter()
    shares = []
    # Sorted, so that replicas are numbered alike whatever the order of a plan's partitions.
    for workload, percent, processes, memory_mib in sorted(wanted):
        seen[workload] += 1
        shares.append(Share(workload, percent, processes, seen[workload], memory_mib or None))
    return frozenset(shares)


def _percent(partition: Partition) -> float:
    if partition.sm_percent is None:
        raise ValueError("a partition of a GPU under MPS has no sm_percent")
    return partition.sm_percent
