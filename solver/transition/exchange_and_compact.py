"""
MIG-serving's controller (arXiv 2109.11067), its two phases as far as they are known to us.

Exchange: for each service and kind of partition (profile, batch, processes) the new plan has more or fewer of. What
comes is sorted by falling throughput, what goes by rising throughput; each arrival is paired with as much of the
same service that goes as together serves no more than it does. Arrivals are created first, best fit on what is free,
idle GPUs last; then their pairs are deleted. Compact: the partitions are now those of the new plan, not their places.
GPU by GPU, the fullest first, one of the new plan's GPUs is chosen that has the least on it of those with at least as
much, and of these the one that shares most; what is missing migrates in (create, redirect, delete), what is too much
migrates out. The throughput stays above the lower of the two rates, since creation precedes deletion in each pair.

Reconstructed from summaries, since the text could not be read in full: the keys and orders of the pairs, and how
compaction chooses. Ours: an arrival for which nothing is free waits for compaction; compaction brings its
partitions to their places by the same ordering with bridges (ordering.py) that the other strategy uses, so that the
two differ in what they move and not in how safely.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .assignment import deal_the_rest
from .bridges import BridgeSizes
from .matches import Match, matches, placed
from .ordering import advance
from .room import fits, free_placements
from .tenancies import RealGpu, Tenancy, TenancyKind, WantedGpu
from .world import Item, World


def exchange_and_compact(
    real: Sequence[RealGpu],
    wanted: Sequence[WantedGpu],
    required: Mapping[str, float],
    sizes: BridgeSizes,
    *,
    fixed_starts: bool = False,
) -> tuple[World, tuple[int, ...]]:
    """Returns the world after both phases, and for each GPU of the new plan the GPU that it became."""
    # Everything leaves until compaction finds that it stays.
    items = [Item(g, one, "leaves") for g, gpu in enumerate(real) for one in gpu.runs]
    world = World(real, items, required)
    _exchange(world, wanted)
    places = _compacted(world, wanted, fixed_starts)
    for j, (g, match) in enumerate(places):
        on = world.on[g]
        stay, coming = placed(world.present(g), wanted[j].wants, match)
        for position in stay:
            i = on[position]
            world.items[i] = replace(world.items[i], role="stays" if i < len(items) else "comes")
        for one in coming:
            world.add(Item(g, one, "comes"))
    here = {i for on in world.on for i in on}
    for i in range(len(items), len(world.items)):
        if i in here and world.items[i].role == "leaves":
            world.items[i] = replace(world.items[i], role="bridges")
    return advance(world, sizes), tuple(g for g, _ in places)


def _exchange(world: World, wanted: Sequence[WantedGpu]) -> None:
    runs = Counter((world.real[item.gpu].gpu, item.tenancy.kind) for item in world.items)
    wants = Counter((gpu.gpu, one.kind) for gpu in wanted for one in gpu.wants)
    sample: dict[tuple[str, TenancyKind], Tenancy] = {(gpu.gpu, one.kind): one for gpu in wanted for one in gpu.wants}
    too_many = runs - wants
    going: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, item in enumerate(world.items):
        key = (world.real[item.gpu].gpu, item.tenancy.kind)
        if too_many[key]:
            too_many[key] -= 1
            going[item.tenancy.workloads].append(i)
    for candidates in going.values():
        candidates.sort(key=lambda i: (_throughput(world.items[i].tenancy), i))
    arriving = sorted((wants - runs).elements(), key=lambda key: (-_throughput(sample[key]), repr(key)))
    for gpu, kind in arriving:
        arrival = sample[gpu, kind]
        g = _best_fit(world, gpu, arrival)
        if g is None:
            continue
        world.bring(world.add(Item(g[0], g[1], "leaves")))
        left = _throughput(arrival)
        candidates = going[arrival.workloads]
        while candidates and _throughput(world.items[candidates[0]].tenancy) <= left:
            i = candidates.pop(0)
            left -= _throughput(world.items[i].tenancy)
            world.take(i)
    for candidates in going.values():
        for i in candidates:
            if not world.deficits([i]):
                world.take(i)


def _throughput(one: Tenancy) -> float:
    return sum(capacity for _, capacity in one.capacity)


def _best_fit(world: World, gpu: str, arrival: Tenancy) -> tuple[int, Tenancy] | None:
    """Returns the GPU with the least free room that takes an arrival, and the arrival with its start there."""
    best: tuple[tuple[bool, int, int], tuple[int, Tenancy]] | None = None
    for g, real in enumerate(world.real):
        if real.gpu != gpu or not world.may_share(g, arrival.sharing):
            continue
        place = arrival
        if arrival.sharing == "mig":
            free = free_placements(gpu, world.layout(g))
            start = max((one.start for one in free if one.profile == arrival.mig_profile), default=None)
            if start is None:
                continue
            place, room = replace(arrival, start=start), len(free)
        elif fits(gpu, present := world.present(g), arrival):
            room = 100 - round(sum(one.sm_percent or 0.0 for one in present))
        else:
            continue
        cost = (not world.on[g], room, g)
        if best is None or cost < best[0]:
            best = cost, (g, place)
    return None if best is None else best[1]


def _compacted(world: World, wanted: Sequence[WantedGpu], fixed_starts: bool) -> list[tuple[int, Match | None]]:
    """Returns for each GPU of the new plan the GPU that it becomes, and what stays there."""
    places: list[int | None] = [None] * len(wanted)
    found: list[Match | None] = [None] * len(wanted)
    free = list(range(len(wanted)))
    fill = [_fill(gpu.wants) for gpu in wanted]
    full_first = sorted((g for g, on in enumerate(world.on) if on), key=lambda g: (-_fill(world.present(g)), g))
    for g in full_first:
        present = world.present(g)
        own = _fill(present)
        fitting = [j for j in free if wanted[j].gpu == world.real[g].gpu and fill[j] >= own]
        if not fitting:
            continue
        least = min(fill[j] for j in fitting)
        tied = [j for j in fitting if fill[j] == least]
        ways = {
            j: next(iter(matches(wanted[j].gpu, present, wanted[j].wants, fixed_starts=fixed_starts)), None)
            for j in tied
        }
        j = max(tied, key=lambda j: (ways[j].count if ways[j] is not None else 0, -j))  # type: ignore[union-attr]
        places[j], found[j] = g, ways[j]
        free.remove(j)
    settled = deal_the_rest(world.real, wanted, places)
    for j in free:
        now = world.present(settled[j])
        ways_left = matches(wanted[j].gpu, now, wanted[j].wants, fixed_starts=fixed_starts) if now else []
        found[j] = ways_left[0] if ways_left else None
    return list(zip(settled, found, strict=True))


def _fill(tenancies: Sequence[Tenancy]) -> float:
    """Returns how full a GPU is: units of MIG profile size, or the share that is taken."""
    if not tenancies:
        return 0.0
    if tenancies[0].sharing != "mig":
        return sum(one.sm_percent or 100.0 for one in tenancies) / 100
    return sum(float((one.mig_profile or "0").split("g")[0].split("c.")[-1]) for one in tenancies) / 7
