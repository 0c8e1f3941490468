"""Where a partition of a CPU lies, in words."""

from ..model.catalogue import load_cpus
from ..model.plan import Partition, PlannedGpu


def domains_in_words(cpu: PlannedGpu, partition: Partition) -> str:
    """Returns the L3 domains of a partition, numbered from 0 on, as `L3 domain 3` or `L3 domains 4 to 7`."""
    size, start = load_cpus()[cpu.gpu].domain_cores, partition.start or 0
    first, last = start // size, (start + (partition.cores or 1) - 1) // size
    return f"L3 domain {first}" if first == last else f"L3 domains {first} to {last}"
