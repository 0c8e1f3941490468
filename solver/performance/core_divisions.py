"""
The ways to divide a CPU into partitions of given sizes, as the multisets that exact planners cut CPUs into.

Which fit is the rule of model/core_partitions.py: (1) partitions within a domain are packed into domains, (2) those of
several domains into nodes, (3) as many domains are left. So a multiset is a sum of whole nodes, of whole domains and of
single domains that are each cut in some way; it is enough to cut every domain that is left in a maximal way.

Where these are too many to list, they need not be: domains are all alike, so partitions within one can be cut from the
domains that are left on all CPUs together, whichever CPU they are on. `outer_divisions` are what whole nodes and
domains are taken for, with the domains left, and `domain_cuts` the ways to cut one of these. And at any prices y >= 0
of partitions no division is worth more than one of `even_divisions`, which cut every domain that is left in the same
way: a division is worth what its outer part is, and of each domain left at most the worth of the best cut.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..model.core_partitions import Cores, CoreTree, packed


class TooManyDivisionsError(ValueError):
    """There are more ways to divide a CPU than are listed."""


MOST_DIVISIONS = 3_000
"""Maximal divisions of a CPU that are listed; beyond it, the sizes are too many for programs over divisions."""

MOST_SUMS = 4 * MOST_DIVISIONS
"""Divisions that are looked at on the way."""


class OuterDivision(NamedTuple):
    """What whole domains and nodes of a CPU are taken for."""

    partitions: Cores
    """Those of several domains or nodes, descending."""
    domains_left: int


@cache
def listed_divisions(tree: CoreTree, sizes: Cores) -> tuple[Cores, ...] | None:
    """Returns the maximal divisions; None: there are too many to list."""
    try:
        return maximal_divisions(tree, sizes)
    except TooManyDivisionsError:
        return None


@cache
def outer_divisions(tree: CoreTree, sizes: Cores) -> tuple[OuterDivision, ...]:
    """
    Returns all multisets of partitions of several domains or nodes that fit on a CPU, also none.

    Raises
    ------
    TooManyDivisionsError
        If there are more than MOST_DIVISIONS.
    """
    order = tuple(sorted(set(sizes), reverse=True))
    if _ways(tuple(size // tree.domain for size in order if size > tree.domain), tree.domains * tree.nodes) > MOST_SUMS:
        raise TooManyDivisionsError
    found = sorted(_outer(tree, order), reverse=True)
    if len(found) > MOST_DIVISIONS:
        raise TooManyDivisionsError
    return tuple(found)


@cache
def domain_cuts(tree: CoreTree, sizes: Cores) -> tuple[Cores, ...]:
    """
    Returns the maximal multisets of partitions within one domain, descending; none, if no size fits in one.

    Raises
    ------
    TooManyDivisionsError
        If there are more than MOST_DIVISIONS.
    """
    small = tuple(size for size in sorted(set(sizes), reverse=True) if tree.level(size) == "cores")
    cuts = sorted(_listed(one, small) for one in (_fillings(small, tree.domain) if small else ()))
    if len(cuts) > MOST_DIVISIONS:
        raise TooManyDivisionsError
    return tuple(reversed(cuts))


@cache
def even_divisions(tree: CoreTree, sizes: Cores) -> tuple[Cores, ...]:
    """
    Returns the divisions that cut every domain that is left in the same way, each descending.

    Raises
    ------
    TooManyDivisionsError
        If there are more than MOST_DIVISIONS.
    """
    outer, cuts = outer_divisions(tree, sizes), domain_cuts(tree, sizes) or ((),)
    if len(outer) * len(cuts) > MOST_DIVISIONS:
        raise TooManyDivisionsError
    found = {(*one.partitions, *sorted(cut * one.domains_left, reverse=True)) for one in outer for cut in cuts}
    return tuple(sorted(found - {()}, reverse=True))


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
    found: set[Cores] = set()
    for outer in _outer(tree, order):
        base = counted(outer.partitions)
        rests = by_domains[outer.domains_left] if by_domains is not None else {()}
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


def _outer(tree: CoreTree, order: Cores) -> Iterator[OuterDivision]:
    """Yields all multisets of partitions of several domains or nodes that fit; `order`: sizes, descending."""
    wholes = [size for size in order if tree.level(size) == "nodes"]
    several = [size for size in order if tree.level(size) == "domains"]
    for taken in _bounded(tuple(size // tree.node for size in wholes), tree.nodes):
        nodes = tree.nodes - sum(n * (size // tree.node) for n, size in zip(taken, wholes, strict=True))
        of_nodes = _listed(taken, tuple(wholes))
        for in_domains in _bounded(tuple(size // tree.domain for size in several), tree.domains * nodes):
            of_domains = _listed(in_domains, tuple(several))
            in_units = tuple(size // tree.domain for size in of_domains)
            if nodes > 1 and packed(in_units, tree.domains, nodes) is None:
                continue
            if nodes == 1 and sum(in_units) > tree.domains:
                continue
            yield OuterDivision((*of_nodes, *of_domains), tree.domains * nodes - sum(in_units))


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
