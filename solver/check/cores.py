"""
Verification of how CPUs are divided, and of what their partitions are worth.

The rule of model/core_partitions.py is stated a second time, of sets of cores: the cores of a partition are within
one L3 domain, or are some whole L3 domains of one NUMA node, or some whole NUMA nodes; and no two have one in common.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from ..model.catalogue import load_cpus
from ..model.cpu import Cpu
from ..model.plan import PlannedGpu

Cores = frozenset[int]


def wrong_cores(gpu: PlannedGpu) -> Iterator[tuple[int | None, str]]:
    """Yields what is wrong with the division of a CPU, each with the index of its partition; None: of all together."""
    cpu = load_cpus().get(gpu.gpu)
    if cpu is None:
        yield None, f"{gpu.gpu} is no CPU of the catalogue"
        return
    domains, nodes = (
        _parts(cpu, int(cpu.l3_domain_cores.value)),
        _parts(cpu, cpu.core_count // int(cpu.numa_nodes.value)),
    )
    holders: dict[int, int] = {}
    for i, partition in enumerate(gpu.partitions):
        if partition.cores is None or partition.start is None:
            yield i, "has no cores or no start; expected both, as it is a partition of a CPU"
            continue
        if partition.mig_profile is not None or partition.sm_percent is not None:
            yield (
                i,
                f"is cores of a CPU and has mig_profile {partition.mig_profile} and sm_percent {partition.sm_percent}",
            )
        beyond = partition.start + partition.cores > cpu.core_count
        own = frozenset(range(partition.start, min(partition.start + partition.cores, cpu.core_count)))
        if beyond:
            yield i, f"has {partition.cores} cores from {partition.start} on; there are {cpu.core_count}"
        elif not _is_allowed(own, domains, nodes):
            yield (
                i,
                (
                    f"has {partition.cores} cores from {partition.start} on, which lie neither within one L3 domain of "
                    f"{int(cpu.l3_domain_cores.value)} cores nor are whole ones of one NUMA node, nor whole nodes"
                ),
            )
        if shared := sorted({holders[core] for core in own if core in holders}):
            yield i, f"has cores that partitions[{shared[0]}] has, too"
        holders |= dict.fromkeys(own, i)


def _is_allowed(own: Cores, domains: list[Cores], nodes: list[Cores]) -> bool:
    met_domains, met_nodes = ([part for part in parts if part & own] for parts in (domains, nodes))
    if len(met_domains) == 1:
        return True
    if len(met_nodes) == 1:
        return all(part <= own for part in met_domains)
    return all(part <= own for part in met_nodes)


def _parts(cpu: Cpu, size: int) -> list[Cores]:
    return [frozenset(range(first, first + size)) for first in range(0, cpu.core_count, size)]


def most_worth_of_cores(name: str, usd: Mapping[int, float]) -> float:
    """
    Returns the most that partitions of an empty CPU are worth together.

    Level by level, each a knapsack of what the level below is worth at the best. `usd`: cores -> what they are worth.
    """
    cpu = load_cpus()[name]
    worth, unit = 0.0, 1
    for size in (cpu.domain_cores, cpu.node_cores, cpu.core_count):
        worth = _knapsack(
            size // unit, worth, {n // unit: value for n, value in usd.items() if unit * (n // unit) == n}
        )
        unit = size
    return worth


def _knapsack(room: int, of_one: float, usd: Mapping[int, float]) -> float:
    """Returns the most that fits into a room: items of some units, and units that are worth something themselves."""

    @cache
    def most(left: int) -> float:
        found = left * of_one
        for units, value in usd.items():
            if 0 < units <= left:
                found = max(found, value + most(left - units))
        return found

    return most(room)
