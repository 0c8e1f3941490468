"""Which tenancies fit together on one GPU or CPU: MIG geometry, MPS shares, cores, or one that has the whole GPU."""

from collections.abc import Iterable, Sequence
from functools import cache

from ..model.catalogue import load_catalogue, load_cpus
from ..model.core_partitions import CoreTree
from ..model.division import FULL_PERCENT
from ..model.geometry import Layout, Placement, PlacementRules, addable_placements, placement_rules
from ..model.geometry import fits as fits_layout
from .tenancies import Tenancy


@cache
def rules_of(gpu: str) -> PlacementRules:
    """Returns the placement rules of a GPU type with MIG, all its profiles included."""
    geometry = load_catalogue()[gpu].mig
    if geometry is None:
        raise ValueError(f"{gpu} has no MIG")
    return placement_rules(geometry)


def placement(one: Tenancy) -> Placement:
    """Returns where a MIG instance stands."""
    if one.mig_profile is None or one.start is None:
        raise ValueError("not a MIG instance")
    return Placement(one.start, one.mig_profile)


def layout(tenancies: Iterable[Tenancy]) -> Layout:
    """Returns the layout of MIG instances."""
    return tuple(sorted(placement(one) for one in tenancies))


def fits(gpu: str, present: Sequence[Tenancy], added: Tenancy) -> bool:
    """Tells whether a tenancy can be added to those on a GPU; one of another kind of sharing cannot."""
    if not present:
        return True
    if present[0].sharing != added.sharing:
        return False
    if added.sharing == "mig":
        return fits_placement(gpu, layout(present), placement(added))
    if added.sharing == "cores":
        return not any(share_cores(one, added) for one in present)
    return sum(one.percent for one in (*present, added)) <= FULL_PERCENT


def cores_of(one: Tenancy) -> range:
    """Returns the cores of a partition of a CPU."""
    if one.cores is None or one.start is None:
        raise ValueError("not a partition of a CPU")
    return range(one.start, one.start + one.cores)


def start_of(one: Tenancy) -> int:
    """Returns where a MIG instance or a partition of a CPU starts."""
    return placement(one).start if one.cores is None else cores_of(one).start


def share_cores(one: Tenancy, other: Tenancy) -> bool:
    """Tells whether two partitions of a CPU have a core in common."""
    own, others = cores_of(one), cores_of(other)
    return own.start < others.stop and others.start < own.stop


def free_starts(cpu: str, present: Iterable[Tenancy], cores: int) -> list[int]:
    """Returns where a partition of so many cores could start beside those on a CPU."""
    taken = {core for one in present for core in cores_of(one)}
    tree = CoreTree.of(load_cpus()[cpu])
    return [
        start
        for start in range(tree.node * tree.nodes - cores + 1)
        if tree.stands_well(start, cores) and taken.isdisjoint(range(start, start + cores))
    ]


@cache
def fits_placement(gpu: str, standing: Layout, added: Placement) -> bool:
    """Tells whether a MIG instance can be added to a layout."""
    return fits_layout(rules_of(gpu), standing, added)


@cache
def free_placements(gpu: str, standing: Layout) -> frozenset[Placement]:
    """Returns every MIG instance that could be added to a layout."""
    return frozenset(addable_placements(rules_of(gpu), standing))


@cache
def free_profiles(gpu: str, standing: Layout) -> frozenset[str]:
    """Returns the MIG profiles of which an instance could be added to a layout."""
    return frozenset(one.profile for one in free_placements(gpu, standing))


@cache
def overlap(gpu: str, one: Placement, other: Placement) -> bool:
    """Tells whether two MIG instances take a common placement unit."""
    rules = rules_of(gpu).by_name
    return (
        one.start < other.start + rules[other.profile].memory_slices
        and other.start < one.start + rules[one.profile].memory_slices
    )


def in_the_way(gpu: str, present: Sequence[Tenancy], movable: Sequence[bool], added: Tenancy) -> list[int] | None:
    """
    Returns which of the tenancies on a GPU have to go so that another fits, as indices; None: one that must stay.

    A smallest set is not sought: those that take the same placement units go, and only if the rest still leaves no
    room (compute slices, media engines, shares) further ones, in their order.
    """
    if fits(gpu, present, added):
        return []
    if present[0].sharing != added.sharing:
        return list(range(len(present))) if all(movable) else None
    gone: list[int] = []
    if added.sharing == "mig":
        gone = [i for i, one in enumerate(present) if overlap(gpu, placement(one), placement(added))]
    elif added.sharing == "cores":
        gone = [i for i, one in enumerate(present) if share_cores(one, added)]
    if not all(movable[i] for i in gone):
        return None
    for i in (i for i in range(len(present)) if movable[i] and i not in gone):
        if fits(gpu, [one for j, one in enumerate(present) if j not in gone], added):
            break
        gone.append(i)
    return gone if fits(gpu, [one for j, one in enumerate(present) if j not in gone], added) else None
