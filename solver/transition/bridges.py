"""
Temporary partitions: where there is no room to build the new beside the old, what leaves runs elsewhere for a while.

A service can be bridged on any partition on which one of the two plans runs it, so that nothing must be predicted
here. A bridge stands on placement units or cores that are free, on GPUs in use or idle, by preference where nothing is
to come.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .room import fits, free_placements, free_starts, overlap, placement, share_cores
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
            return (False, capacity) if capacity >= missing_rps else (True, -capacity)

        return sorted(known, key=size)


def bridge_sizes(tenancies: Iterable[tuple[str, Tenancy]]) -> BridgeSizes:
    """Returns what can be bridged how; tenancies come with their GPU type. Who takes turns is bridged together."""
    found: defaultdict[str, dict[tuple[str, object], tuple[str, Tenancy]]] = defaultdict(dict)
    for gpu, one in tenancies:
        for workload in one.workloads:
            found[workload].setdefault((gpu, one.kind), (gpu, one))
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
        # A bridge for another service may have brought this one, in turn.
        left = short - sum(dict(world.items[i].tenancy.capacity).get(workload, 0.0) for i in brought)
        if left <= 0:
            continue
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
    best: tuple[tuple[int, bool, int], int | None] | None = None
    for g in _candidates(world, gpu, option):
        awaited = coming(g)
        for start in _starts(world, g, option):
            cost = (_in_the_way_of(gpu, option, start, awaited), not world.on[g], g)
            if best is not None and cost >= best[0]:
                continue
            if g != arrival.gpu or _leaves_room(world, arrival, replace(option, start=start)):
                best = cost, start
        if best is not None and best[0][:2] == (0, False):
            break
    return None if best is None else Item(best[0][2], replace(option, start=best[1]), "bridges")


def _candidates(world: World, gpu: str, option: Tenancy) -> list[int]:
    """Returns the GPUs on which there may be room for a temporary partition."""
    if option.mig_profile is not None:
        return world.with_room(gpu, option.mig_profile)
    return [g for g, real in enumerate(world.real) if real.gpu == gpu and world.may_share(g, option.sharing)]


def _leaves_room(world: World, arrival: Arrival, place: Tenancy) -> bool:
    staying = [world.items[i].tenancy for i in world.on[arrival.gpu] if i not in arrival.leaving]
    return fits(world.real[arrival.gpu].gpu, [*staying, place], arrival.tenancy)


def _starts(world: World, g: int, option: Tenancy) -> Sequence[int | None]:
    """Returns where a temporary partition could start on a GPU; None stands for one that has no start."""
    gpu = world.real[g].gpu
    if option.cores is not None:
        return free_starts(gpu, world.present(g), option.cores)
    if option.sharing != "mig":
        return [None] if fits(gpu, world.present(g), option) else []
    free = free_placements(gpu, world.layout(g))
    return sorted(one.start for one in free if one.profile == option.mig_profile)


def _in_the_way_of(gpu: str, option: Tenancy, start: int | None, awaited: Sequence[Tenancy]) -> int:
    """Returns how many of the arrivals that a GPU awaits could not come beside a temporary partition."""
    if option.sharing == "cores":
        stands = replace(option, start=start)
        return sum(share_cores(one, stands) for one in awaited)
    if option.sharing != "mig":
        return len(awaited)
    place = placement(replace(option, start=start))
    return sum(one.sharing != "mig" or overlap(gpu, placement(one), place) for one in awaited)
