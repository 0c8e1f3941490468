"""
Which partitions of a CPU stay on their cores, which move to others while they run, and where the rest stands.

The kernel changes the cores of processes that run, so a partition that both plans have on a CPU is never stopped for
its place. It stays if all of its like can stay and the others find cores around them, largest first, each where the
fewest cores are free in its L3 domain, then in its NUMA node: the new plan's places change nothing about what it serves
or costs. If they do not, every partition goes where the new plan says. So may fewer stay than could; what moves is not
disturbed.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ..model.catalogue import load_cpus
from .room import cores_of, free_starts
from .tenancies import Tenancy, TenancyKind

CorePlaces = tuple[list[int], list[Tenancy], dict[int, int]]
"""Which of the running ones stay, as indices; those that come; of those that move, which of these each becomes."""


def core_places(cpu: str, runs: Sequence[Tenancy], wants: Sequence[Tenancy], *, fixed_starts: bool) -> CorePlaces:
    """
    Returns what becomes of the partitions of a CPU.

    Parameters
    ----------
    runs, wants
        Its content before and after.
    fixed_starts
        Whether the new plan's partitions must stand where it says.
    """
    planned = as_planned(runs, wants)
    stay, coming, moves = planned
    if fixed_starts or not moves:
        return planned
    others = [one for n, one in enumerate(coming) if n not in moves.values()]
    around = _placed_around(cpu, [runs[i] for i in (*stay, *moves)], others)
    return planned if around is None else (sorted([*stay, *moves]), around, {})


def as_planned(runs: Sequence[Tenancy], wants: Sequence[Tenancy]) -> CorePlaces:
    """Returns what becomes of the partitions of a CPU if the new ones stand where their plan says."""
    free: defaultdict[TenancyKind, list[int]] = defaultdict(list)
    for j, one in enumerate(wants):
        free[one.kind].append(j)
    stay, met = [], set[int]()
    for i, one in enumerate(runs):
        if (same := next((j for j in free[one.kind] if wants[j].start == one.start), None)) is not None:
            free[one.kind].remove(same)
            stay.append(i)
            met.add(same)
    comes = [j for j in range(len(wants)) if j not in met]
    coming = [wants[j] for j in comes]
    moves = {}
    for i, one in enumerate(runs):
        # Where a partition is kept free there are no processes to move.
        if i not in stay and one.serves and free[one.kind]:
            moves[i] = comes.index(free[one.kind].pop(0))
            coming[moves[i]] = replace(one, start=coming[moves[i]].start)
    return stay, coming, moves


def _placed_around(cpu: str, standing: Sequence[Tenancy], others: Sequence[Tenancy]) -> list[Tenancy] | None:
    """Returns partitions with places beside those that stand; None: not all of them find one."""
    facts = load_cpus()[cpu]
    present, found = list(standing), []
    for one in sorted(others, key=lambda one: (-len(cores_of(one)), one.serves)):
        taken = {core for other in present for core in cores_of(other)}

        def left(start: int, taken: set[int] = taken) -> tuple[int, int, int]:
            in_domain, in_node = (_free(size, start, taken) for size in (facts.domain_cores, facts.node_cores))
            return in_domain, in_node, start

        starts = free_starts(cpu, present, len(cores_of(one)))
        if not starts:
            return None
        placed = replace(one, start=min(starts, key=left))
        present.append(placed)
        found.append(placed)
    return found


def _free(size: int, start: int, taken: set[int]) -> int:
    """Returns the cores that are free of the L3 domain or NUMA node, of so many cores, in which a core lies."""
    first = start // size * size
    return len({*range(first, first + size)} - taken)
