"""CPUs as the catalogue describes them: cores, the L3 caches and NUMA nodes that they share, each with its source."""

from pydantic import Field, model_validator

from .base import Name, Record
from .hardware import Fact

OPTIONAL_FACTS = ("l3_mib_per_domain", "memory_gib", "memory_bandwidth_gb_s", "tdp_w")
"""Figures of a CPU type that may be null."""


class Cpu(Record):
    """
    One CPU type of the catalogue: one socket.

    Its cores are numbered from 0 on, those of an L3 domain one after the other, and those of a NUMA node likewise.
    """

    name: Name
    vendor: str
    architecture: str
    cores: Fact = Field(description="physical cores")
    threads_per_core: Fact = Field(description="1: no SMT, or switched off where it is rented")
    l3_domain_cores: Fact = Field(description="cores that share one L3 cache")
    l3_mib_per_domain: Fact | None = Field(description="size of one L3 cache")
    numa_nodes: Fact = Field(description="NUMA nodes that the CPU shows as it is usually set up")
    memory_gib: Fact | None = Field(description="memory beside one CPU, as it is usually rented")
    memory_bandwidth_gb_s: Fact | None
    tdp_w: Fact | None
    unknown: dict[str, str] = Field(default_factory=dict, description="each figure that is null -> why it is not known")

    @model_validator(mode="after")
    def _what_is_null_has_a_reason(self) -> "Cpu":
        null = {name for name in OPTIONAL_FACTS if getattr(self, name) is None}
        if null != set(self.unknown):
            raise ValueError(f"null are {sorted(null)}, but `unknown` gives reasons for {sorted(self.unknown)}")
        return self

    @model_validator(mode="after")
    def _domains_and_nodes_divide_the_cores(self) -> "Cpu":
        figures = (self.cores, self.threads_per_core, self.l3_domain_cores, self.numa_nodes)
        if any(fact.value != int(fact.value) for fact in figures):
            raise ValueError("cores, threads, cores of an L3 domain and NUMA nodes are whole numbers")
        if self.core_count % self.domain_cores or self.core_count // self.domain_cores % self.node_count:
            raise ValueError(
                f"{self.core_count} cores are not {self.node_count} NUMA nodes of whole L3 domains of "
                f"{self.domain_cores} cores"
            )
        return self

    @property
    def core_count(self) -> int:
        """Physical cores."""
        return int(self.cores.value)

    @property
    def domain_cores(self) -> int:
        """Cores of an L3 domain."""
        return int(self.l3_domain_cores.value)

    @property
    def node_count(self) -> int:
        """NUMA nodes."""
        return int(self.numa_nodes.value)

    @property
    def node_cores(self) -> int:
        """Cores of a NUMA node."""
        return self.core_count // self.node_count

    @property
    def memory_mib(self) -> float | None:
        """Memory beside the CPU in MiB; None: not known."""
        return None if self.memory_gib is None else self.memory_gib.value * 1024

    def memory_of(self, cores: int) -> float | None:
        """Returns the memory of a partition in MiB, its part of the CPU's by cores; None: not known."""
        return None if self.memory_mib is None else self.memory_mib * cores / self.core_count
