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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ..model.catalogue import load_cpus
from .assignment import deal_the_rest
from .bridges import BridgeSizes
from .matches import Match, matches, placed
from .ordering import advance
from .room import fits, free_placements, free_starts, rules_of
from .tenancies import RealGpu, Tenancy, TenancyKind, WantedGpu
from .world import Item, World


def exchange_and_compact(
    real: Sequence[RealGpu],
    wanted: Sequence[WantedGpu],
    required: Mapping[str, float],
    sizes: BridgeSizes,
    *,
    fixed_starts: bool,
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
    for i in range(len(items), len(world.items)):
        if world.items[i].role == "leaves":
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
            # Of those that take turns one may get less though all together get more.
            if len(arrival.workloads) > 1 and world.deficits(candidates[:1]):
                break
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
    found: dict[tuple[bool, Fraction | int, int], Tenancy] = {}
    for g, real in enumerate(world.real):
        if real.gpu == gpu and world.may_share(g, arrival.sharing):
            for room, place in _fitting(world, g, arrival):
                found[not world.on[g], room, g] = place
    if not found:
        return None
    best = min(found)
    return best[2], found[best]


def _fitting(world: World, g: int, arrival: Tenancy) -> Iterator[tuple[Fraction | int, Tenancy]]:
    """Yields the room on a GPU, to compare with others, and an arrival with its last start there; nothing: no room."""
    gpu = world.real[g].gpu
    if arrival.sharing == "mig":
        free = free_placements(gpu, world.layout(g))
        if starts := [one.start for one in free if one.profile == arrival.mig_profile]:
            yield len(free), replace(arrival, start=max(starts))
    elif arrival.cores is not None:
        if starts := free_starts(gpu, world.present(g), arrival.cores):
            yield -_fill(gpu, world.present(g)), replace(arrival, start=starts[-1])
    elif fits(gpu, world.present(g), arrival):
        yield -_fill(gpu, world.present(g)), arrival


def _compacted(world: World, wanted: Sequence[WantedGpu], fixed_starts: bool) -> list[tuple[int, Match | None]]:
    """Returns for each GPU of the new plan the GPU that it becomes, and what stays there."""
    places: list[int | None] = [None] * len(wanted)
    found: list[Match | None] = [None] * len(wanted)
    free = list(range(len(wanted)))
    fill = [_fill(gpu.gpu, gpu.wants) for gpu in wanted]
    own = {g: _fill(world.real[g].gpu, world.present(g)) for g, on in enumerate(world.on) if on}
    for g in sorted(own, key=lambda g: (-own[g], g)):
        fitting = [j for j in free if wanted[j].gpu == world.real[g].gpu and fill[j] >= own[g]]
        if not fitting:
            continue
        least = min(fill[j] for j in fitting)
        ways = {j: _best_match(world, g, wanted[j], fixed_starts) for j in fitting if fill[j] == least}
        j = max(ways, key=lambda j: (0 if (way := ways[j]) is None else way.count, -j))
        places[j], found[j] = g, ways[j]
        free.remove(j)
    settled = deal_the_rest(world.real, wanted, places)
    for j in free:
        found[j] = _best_match(world, settled[j], wanted[j], fixed_starts)
    return list(zip(settled, found, strict=True))


def _best_match(world: World, g: int, wanted: WantedGpu, fixed_starts: bool) -> Match | None:
    """Returns how a GPU becomes one of the new plan and most stays; None: nothing can."""
    return next(iter(matches(wanted.gpu, world.present(g), wanted.wants, fixed_starts=fixed_starts)), None)


def _fill(gpu: str, tenancies: Iterable[Tenancy]) -> Fraction:
    """Returns how full a GPU is: the part of its compute slices or cores, or the share, that is taken."""
    return sum((_part(gpu, one) for one in tenancies), Fraction())


def _part(gpu: str, one: Tenancy) -> Fraction:
    if one.mig_profile is not None:
        rules = rules_of(gpu)
        return Fraction(rules.by_name[one.mig_profile].compute_slices, rules.compute_slices)
    if one.cores is not None:
        return Fraction(one.cores, load_cpus()[gpu].core_count)
    return Fraction(one.percent) / 100
