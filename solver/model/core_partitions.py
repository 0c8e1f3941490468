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

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

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
    in_nodes = _packed(tuple(one // tree.domain for one in several), tree.domains, tree.nodes - taken)
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
    return next((found for bins in range(least, len(items) + 1) if (found := _packed(items, room, bins))), ())


@cache
def _packed(items: Cores, room: int, bins: int) -> tuple[int, ...] | None:
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


class TooManyDivisionsError(ValueError):
    """There are more ways to divide a CPU than are listed."""


MOST_DIVISIONS = 3_000
"""Maximal divisions of a CPU that are listed; beyond it, the sizes are too many for programs over divisions."""

MOST_SUMS = 4 * MOST_DIVISIONS
"""Divisions that are looked at on the way."""


@cache
def maximal_divisions(tree: CoreTree, sizes: Cores) -> tuple[Cores, ...]:
    """
    Returns multisets of partitions of these sizes that fit on a CPU, each descending; every one that fits is in one.

    They are sums: whole nodes and several domains as they fit, then every domain that is left cut in a maximal way.
    Those that another one contains are left out where there are few enough to compare.

    Raises
    ------
    TooManyDivisionsError
        If there are more than MOST_DIVISIONS.
    """
    order = tuple(sorted(set(sizes), reverse=True))
    position = {size: i for i, size in enumerate(order)}
    none = (0,) * len(order)

    def counted(items: Sequence[int]) -> Cores:
        times = Counter(items)
        return tuple(times[size] for size in order)

    small = tuple(size for size in order if tree.level(size) == "cores")
    by_domains = _by_domains(tuple(_fillings(small, tree.domain)), tree.domains * tree.nodes) if small else None
    if _ways(tuple(size // tree.domain for size in order if size > tree.domain), tree.domains * tree.nodes) > MOST_SUMS:
        raise TooManyDivisionsError
    wholes = [size for size in order if tree.level(size) == "nodes"]
    several = [size for size in order if tree.level(size) == "domains"]
    found: set[Cores] = set()
    for taken in _bounded(tuple(size // tree.node for size in wholes), tree.nodes):
        nodes = tree.nodes - sum(n * (size // tree.node) for n, size in zip(taken, wholes, strict=True))
        of_nodes = [size for n, size in zip(taken, wholes, strict=True) for _ in range(n)]
        for in_domains in _bounded(tuple(size // tree.domain for size in several), tree.domains * nodes):
            of_domains = [size for n, size in zip(in_domains, several, strict=True) for _ in range(n)]
            in_units = tuple(size // tree.domain for size in of_domains)
            if nodes > 1 and _packed(in_units, tree.domains, nodes) is None:
                continue
            if nodes == 1 and sum(in_units) > tree.domains:
                continue
            left = tree.domains * nodes - sum(in_units)
            base = counted([*of_nodes, *of_domains])
            rests = by_domains[left] if by_domains is not None else {()}
            for rest in rests:
                whole = list(base)
                for size, times in zip(small, rest, strict=True):
                    whole[position[size]] += times
                found.add(tuple(whole))
            if len(found) > MOST_SUMS:
                raise TooManyDivisionsError
    found.discard(none)
    kept = _not_contained(found)
    if len(kept) > MOST_DIVISIONS:
        raise TooManyDivisionsError
    return tuple(sorted((_listed(one, order) for one in kept), reverse=True))


def _listed(times: Cores, order: Cores) -> Cores:
    return tuple(size for n, size in zip(times, order, strict=True) for _ in range(n))


def _bounded(sizes: Cores, room: int) -> Iterator[Cores]:
    """Yields all counts of items of these sizes whose sum is within the room."""
    if not sizes:
        yield ()
        return
    for times in range(room // sizes[0] + 1):
        yield from ((times, *rest) for rest in _bounded(sizes[1:], room - times * sizes[0]))


def _ways(sizes: Cores, room: int) -> int:
    """Returns how many counts of items of these sizes have a sum within the room."""
    ways = [1] * (room + 1)
    for size in sizes:
        for at in range(size, room + 1):
            ways[at] += ways[at - size]
    return ways[room]


def _fillings(sizes: Cores, room: int) -> Iterator[Cores]:
    """Yields the counts of items of these sizes (descending) that leave no room for another one."""
    if _ways(sizes, room) - _ways(sizes, room - sizes[-1]) > MOST_SUMS:
        raise TooManyDivisionsError
    for times in _bounded(sizes, room):
        if room - sum(n * size for n, size in zip(times, sizes, strict=True)) < sizes[-1]:
            yield times


def _by_domains(fillings: tuple[Cores, ...], most: int) -> list[set[Cores]]:
    """Returns for each number of domains, from 0 on, what they can be cut into together."""
    sums: list[set[Cores]] = [{(0,) * len(fillings[0])}]
    for _ in range(most):
        together = {tuple(map(sum, zip(one, more, strict=True))) for one in sums[-1] for more in fillings}
        if len(together) > MOST_SUMS:
            raise TooManyDivisionsError
        sums.append(_not_contained(together))
    return sums


MOST_COMPARED = 4_000
"""Divisions up to which those are left out that another one contains; it takes the square of their number."""


def _not_contained(found: set[Cores]) -> set[Cores]:
    """Returns the vectors of counts that no other one contains; all, where there are too many to compare."""
    if len(found) > MOST_COMPARED:
        return found
    rows = np.array(sorted(found), dtype=np.int64)
    kept = [row for row in rows if (rows >= row).all(axis=1).sum() == 1]
    return {tuple(row.tolist()) for row in kept}
