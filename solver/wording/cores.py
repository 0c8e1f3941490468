"""Where a CPU and a partition of it lie, in words."""

from ..model.catalogue import load_cpus
from ..model.plan import Partition, PlannedGpu


def domains_in_words(cpu: PlannedGpu, partition: Partition) -> str:
    """Returns the L3 domains of a partition, numbered from 0 on, as `L3 domain 3` or `L3 domains 4 to 7`."""
    size, start = load_cpus()[cpu.gpu].domain_cores, partition.start or 0
    first, last = start // size, (start + (partition.cores or 1) - 1) // size
    return f"L3 domain {first}" if first == last else f"L3 domains {first} to {last}"


def node_in_words(gpu: PlannedGpu) -> str | None:
    """Returns the node of a GPU or CPU and which one of its own it is there, as `n1, CPU 0`; None: it has no node."""
    return f"{gpu.node}, {noun_of(gpu)} {gpu.index}" if gpu.node else None


def noun_of(gpu: PlannedGpu) -> str:
    """Returns what it is: `CPU` or `GPU`."""
    return "CPU" if gpu.sharing == "cores" else "GPU"
