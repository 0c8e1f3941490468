"""
Temporary partitions: where there is no room to build the new beside the old, what leaves runs elsewhere for a while.

A service can be bridged on any partition on which one of the two plans runs it, so that nothing must be predicted
here. A bridge stands on placement units that are free, on GPUs in use or idle, by preference where nothing is
to come.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.problem import Sharing
from .room import fits, free_placements, overlap, placement
from .tenancies import Tenancy
from .world import Item, World

MOST_BRIDGES = 8
"""Bridges for one service at one time; one that takes more is better served by another way out."""


@dataclass(frozen=True)
class BridgeSizes:
    """The partitions on which each service is known to run, by GPU type."""

    by_workload: Mapping[str, Sequence[tuple[str, Tenancy]]]

    def of(self, workload: str, missing_rps: float) -> list[tuple[str, Tenancy]]:
        """Returns the partitions of a service: the smallest that makes up for what is missing, then the largest."""
        known = self.by_workload.get(workload, ())

        def size(entry: tuple[str, Tenancy]) -> tuple[bool, float]:
            capacity = dict(entry[1].capacity)[workload]
            return capacity < missing_rps, capacity if capacity >= missing_rps else -capacity

        return sorted(known, key=size)


def bridge_sizes(tenancies: Iterable[tuple[str, Tenancy]]) -> BridgeSizes:
    """Returns what can be bridged how; tenancies come with their GPU type. Shared partitions are left out."""
    found: defaultdict[str, dict[tuple[str, object], tuple[str, Tenancy]]] = defaultdict(dict)
    for gpu, one in tenancies:
        if len(one.serves) == 1:
            found[one.workloads[0]].setdefault((gpu, one.kind), (gpu, one))
    return BridgeSizes({workload: list(options.values()) for workload, options in found.items()})


@dataclass(frozen=True)
class Arrival:
    """What bridges are built for: something that is to come to a GPU once others have gone from there."""

    gpu: int
    tenancy: Tenancy
    leaving: frozenset[int]
    """Items that go."""


def build_bridges(
    world: World,
    sizes: BridgeSizes,
    missing: Mapping[str, float],
    arrival: Arrival,
    coming: Callable[[int], Sequence[Tenancy]],
) -> tuple[list[int], dict[str, float]]:
    """
    Brings temporary partitions for services that would have too little.

    Parameters
    ----------
    missing
        Requests/s by service.
    arrival
        Whose room is left free.
    coming
        What the new plan has yet to bring to a GPU.

    Returns
    -------
    tuple[list[int], dict[str, float]]
        The items that were brought, and what is still missing.
    """
    brought: list[int] = []
    still: dict[str, float] = {}
    for workload, short in missing.items():
        left = short
        for _ in range(MOST_BRIDGES):
            item = next(
                (
                    found
                    for gpu, option in sizes.of(workload, left)
                    if (found := _place(world, gpu, option, arrival, coming)) is not None
                ),
                None,
            )
            if item is None:
                break
            i = world.add(item)
            world.bring(i)
            brought.append(i)
            left -= dict(item.tenancy.capacity)[workload]
            if left <= 0:
                break
        if left > 0:
            still[workload] = left
    return brought, still


def _place(
    world: World, gpu: str, option: Tenancy, arrival: Arrival, coming: Callable[[int], Sequence[Tenancy]]
) -> Item | None:
    """Returns a temporary partition at the place that is least in the way; None: there is no room."""
    best: tuple[tuple[int, bool, int], Item] | None = None
    for g in _candidates(world, gpu, option):
        for place in _places(world, g, option):
            if g == arrival.gpu and not _leaves_room(world, arrival, place):
                continue
            cost = (_in_the_way_of(gpu, place, coming(g)), not world.on[g], g)
            if best is None or cost < best[0]:
                best = cost, Item(g, place, "bridges")
        if best is not None and best[0][:2] == (0, False):
            break
    return None if best is None else best[1]


def _candidates(world: World, gpu: str, option: Tenancy) -> list[int]:
    """Returns the GPUs on which there may be room for a temporary partition."""
    if option.mig_profile is not None:
        return world.with_room(gpu, option.mig_profile)
    return [g for g, real in enumerate(world.real) if real.gpu == gpu and world.may_share(g, option.sharing)]


def _leaves_room(world: World, arrival: Arrival, place: Tenancy) -> bool:
    staying = [world.items[i].tenancy for i in world.on[arrival.gpu] if i not in arrival.leaving]
    return fits(world.real[arrival.gpu].gpu, [*staying, place], arrival.tenancy)


def _places(world: World, g: int, option: Tenancy) -> list[Tenancy]:
    gpu = world.real[g].gpu
    if option.sharing != "mig":
        return [option] if fits(gpu, world.present(g), option) else []
    free = free_placements(gpu, world.layout(g))
    return [replace(option, start=one.start) for one in sorted(free) if one.profile == option.mig_profile]


def _in_the_way_of(gpu: str, place: Tenancy, coming: Sequence[Tenancy]) -> int:
    sharing: Sharing = place.sharing
    return sum(
        one.sharing != sharing or sharing != "mig" or overlap(gpu, placement(one), placement(place)) for one in coming
    )
