"""
Which partitions a CPU can be divided into, and where they stand: the one home of the rule.

A partition is a number of whole cores that one workload has for itself. It lies within one L3 domain, or is several
whole L3 domains of one NUMA node, or several whole NUMA nodes:

    c cores             1 <= c <= d          d: cores of an L3 domain
    m d cores           2 <= m <= M          M: L3 domains of a NUMA node
    k M d cores         2 <= k <= K          K: NUMA nodes of the CPU

The reason is that a figure that was measured on some cores must hold on any others like them. Cores of one L3 domain
are alike. A partition that straddles two domains in part sends its data across their border, and shares both caches
with others: where the border falls, and who the others are, would decide its time. Whole domains share their caches
with nobody, and all ways to choose m of them in a NUMA node are alike; beyond one node memory becomes remote, so there
nodes are whole. Both threads of a core belong to its partition. Memory bandwidth is shared with the rest of the CPU,
as between MPS shares of a GPU: measurements are best taken with the rest of the CPU busy.

A multiset of partitions fits on a CPU exactly if (1) partitions within a domain can be packed into some number n of
domains; (2) those of several domains can be packed into the nodes that those of several nodes leave; and (3) n domains
are left then. n may be the least there is, as a domain fits wherever one is left.

Positions follow: whole nodes first, then in each node its partitions of several domains, then single domains. All are
runs of cores that begin at a multiple of their unit.
"""

from functools import cache
from typing import Literal, NamedTuple

from .cpu import Cpu

Level = Literal["cores", "domains", "nodes"]
"""What a partition consists of: some cores of an L3 domain, several domains, several NUMA nodes."""

Cores = tuple[int, ...]
"""Numbers of cores of the partitions of one CPU, descending."""


class CoreTree(NamedTuple):
    """How the cores of a CPU hang together."""

    domain: int
    """d: cores of an L3 domain."""
    domains: int
    """M: L3 domains of a NUMA node."""
    nodes: int
    """K: NUMA nodes."""

    @classmethod
    def of(cls, cpu: Cpu) -> "CoreTree":
        """Returns that of a CPU type."""
        return cls(cpu.domain_cores, cpu.node_cores // cpu.domain_cores, cpu.node_count)

    @property
    def node(self) -> int:
        """Cores of a NUMA node."""
        return self.domain * self.domains

    def level(self, cores: int) -> Level | None:
        """Returns what a partition of so many cores consists of; None: there is no such partition."""
        if 1 <= cores <= self.domain:
            return "cores"
        if cores % self.domain == 0 and 0 < cores <= self.node:
            return "domains"
        return "nodes" if cores % self.node == 0 and 0 < cores <= self.node * self.nodes else None

    def unit(self, level: Level) -> int:
        """Returns the cores of one of what partitions of a level consist of."""
        return {"cores": 1, "domains": self.domain, "nodes": self.node}[level]

    def stands_well(self, start: int, cores: int) -> bool:
        """Tells whether a run of cores is a partition: in one domain, or of whole ones, or of whole nodes."""
        level = self.level(cores)
        if level is None or start < 0 or start + cores > self.node * self.nodes:
            return False
        within = {"cores": self.domain, "domains": self.node, "nodes": self.node * self.nodes}[level]
        return start % self.unit(level) == 0 and start // within == (start + cores - 1) // within


def allowed_cores(tree: CoreTree) -> str:
    """Returns which numbers of cores a partition may have, in words."""
    text = f"1 to {tree.domain}"
    if tree.domains > 1:
        text += f" (within an L3 domain), {2 * tree.domain} to {tree.node} in steps of {tree.domain} (whole L3 domains)"
    if tree.nodes > 1:
        text += f", {2 * tree.node} to {tree.nodes * tree.node} in steps of {tree.node} (whole NUMA nodes)"
    return text


@cache
def starts_of(tree: CoreTree, cores: Cores) -> tuple[int, ...] | None:
    """Returns the first core of each of some partitions, in their order (descending); None: they do not fit."""
    whole = [one for one in cores if tree.level(one) == "nodes"]
    several = [one for one in cores if tree.level(one) == "domains"]
    within = [one for one in cores if tree.level(one) == "cores"]
    if len(whole) + len(several) + len(within) < len(cores):
        return None
    taken = sum(whole) // tree.node
    if taken > tree.nodes:
        return None
    in_nodes = packed(tuple(one // tree.domain for one in several), tree.domains, tree.nodes - taken)
    in_domains = None if in_nodes is None else _in_fewest(tuple(within), tree.domain)
    if in_nodes is None or in_domains is None:
        return None
    starts, at = [], 0
    for one in whole:
        starts.append(at)
        at += one
    filled = [0] * (tree.nodes - taken)
    for one, node in zip(several, in_nodes, strict=True):
        starts.append((taken + node) * tree.node + filled[node] * tree.domain)
        filled[node] += one // tree.domain
    free = [
        (taken + node) * tree.node + domain * tree.domain
        for node, used in enumerate(filled)
        for domain in range(used, tree.domains)
    ]
    if max(in_domains, default=-1) >= len(free):
        return None
    used_of = [0] * len(free)
    for one, domain in zip(within, in_domains, strict=True):
        starts.append(free[domain] + used_of[domain])
        used_of[domain] += one
    return tuple(starts)


def _in_fewest(items: Cores, room: int) -> tuple[int, ...] | None:
    """Returns the bin of each item, of the fewest bins of this room that hold them all."""
    least = -(-sum(items) // room)
    return next((found for bins in range(least, len(items) + 1) if (found := packed(items, room, bins))), ())


@cache
def packed(items: Cores, room: int, bins: int) -> tuple[int, ...] | None:
    """
    Returns the bin of each item, in their order; None: there is no packing.

    By depth-first search, bins of equal room tried once, which is exact. Items are descending.
    """
    failed: set[tuple[int, Cores]] = set()

    def search(i: int, left: list[int]) -> list[int] | None:
        if i == len(items):
            return []
        state = (i, tuple(sorted(left)))
        if state in failed:
            return None
        for bin_ in range(bins):
            if left[bin_] >= items[i] and left[bin_] not in left[:bin_]:
                left[bin_] -= items[i]
                rest = search(i + 1, left)
                left[bin_] += items[i]
                if rest is not None:
                    return [bin_, *rest]
        failed.add(state)
        return None

    found = search(0, [room] * bins)
    return None if found is None else tuple(found)
