"""
The ways to divide a CPU into partitions of given sizes, as the multisets that exact planners cut CPUs into.

Which fit is the rule of model/core_partitions.py: (1) partitions within a domain are packed into domains, (2) those of
several domains into nodes, (3) as many domains are left. So a multiset is a sum of whole nodes, of whole domains and of
single domains that are each cut in some way; it is enough to cut every domain that is left in a maximal way.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from ..model.core_partitions import Cores, CoreTree, packed


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
            if nodes > 1 and packed(in_units, tree.domains, nodes) is None:
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
