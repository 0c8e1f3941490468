"""Replay, the cores: no core of a CPU is held by two at once in any cut, and all that runs has a legal set."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from ..model.cpu import Cpu
from .replay_lifetimes import Lifetime, before, together


def wrong_cores(name: str, cpu: Cpu, lifetimes: Sequence[Lifetime], earlier: Sequence[int]) -> Iterator[str]:
    """
    Whatever can run at once on a CPU has no core in common, each lies as a partition may, and what moves runs.

    Parameters
    ----------
    name
        Of the CPU, for messages.
    lifetimes
        Of all that runs on it.
    earlier
        For each step those that have ended before it begins, as bits.
    """
    for one in lifetimes:
        if one.cores is None or not _is_partition(cpu, _held(one)):
            yield f"{name}: {one.workloads} has {one.cores} cores from {one.place[1]} on; no partition of {cpu.name}"
    for one, other in combinations(lifetimes, 2):
        if _moves(one, other) or _moves(other, one):
            first, step = (one.begin, one.end) if _moves(one, other) else (other.begin, other.end)
            if first is not None and not before(first, step, earlier):
                yield f"{name}: {one.workloads} can be moved before it has started"
        elif together(one, other, earlier) and set(_held(one)) & set(_held(other)):
            yield f"{name}: {one.workloads} and {other.workloads} can have the same cores at once"


def _held(one: Lifetime) -> range:
    return range(one.place[1] or 0, (one.place[1] or 0) + (one.cores or 0))


def _moves(one: Lifetime, other: Lifetime) -> bool:
    """Tells whether what ends here goes on there: only a step that moves ends one and begins another."""
    return one.end is not None and one.end == other.begin


def _is_partition(cpu: Cpu, held: range) -> bool:
    """Tells whether cores lie within an L3 domain, or are whole domains of a NUMA node, or whole nodes."""
    if not held or held.start < 0 or held.stop > cpu.core_count:
        return False
    sizes = (1, cpu.domain_cores, cpu.node_cores, cpu.core_count)
    for unit, size in pairwise(sizes):
        if held.start // size == (held.stop - 1) // size:
            return held.start % unit == 0 and held.stop % unit == 0
    return False
