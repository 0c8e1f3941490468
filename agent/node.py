"""What a node has and runs, as plain data: the state that steps change and that is read back."""

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


@dataclass(frozen=True)
class GpuState:
    """One GPU of a node."""

    gpu: str
    mig_enabled: bool
    instances: frozenset[Instance] = frozenset()


NodeState = Mapping[int, GpuState]
"""GPU index -> state."""


def planned_state(gpu: PlannedGpu) -> GpuState:
    """Returns the state that a plan wants of a GPU; sharing other than mig wants MIG off."""
    if gpu.sharing != "mig":
        return GpuState(gpu.gpu, mig_enabled=False)
    return GpuState(gpu.gpu, mig_enabled=True, instances=frozenset(_instance(part) for part in gpu.partitions))


def unused(state: GpuState) -> GpuState:
    """Returns the same GPU with MIG off and nothing on it."""
    return GpuState(state.gpu, mig_enabled=False)


def mode_change_needs_reset(gpu: Gpu) -> bool:
    """Tells whether switching MIG mode takes a GPU reset: on Ampere it does, from Hopper on it does not."""
    return gpu.architecture == "Ampere"


def _instance(partition: Partition) -> Instance:
    if partition.mig_profile is None or partition.start is None:
        raise ValueError("a partition of a MIG GPU has no MIG profile or no start")
    return Instance(partition.start, partition.mig_profile, max(served.processes for served in partition.serves))
