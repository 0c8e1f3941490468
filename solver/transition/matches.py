"""
What a GPU can keep when it takes over the content of another: which tenancies stay, and where the others stand.

On a GPU with MIG the new plan's instances may stand anywhere that the geometry allows: that changes nothing about what
the plan serves or costs. So an instance is kept if its profile and what it serves are wanted, whatever start the new
plan names, provided the others still find room around it.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from ..model.geometry import Layout, Multiset, valid_layouts
from ..model.geometry import multiset as multiset_of
from .core_places import as_planned
from .room import layout, placement, rules_of
from .tenancies import Tenancy, TenancyKind, by_kind


@dataclass(frozen=True)
class Match:
    """One way to keep some of what runs on a GPU: how many tenancies of each kind, in which layout."""

    kept: tuple[tuple[TenancyKind, int], ...]
    layout: Layout | None
    """Where the instances stand afterwards; None: not a GPU with MIG."""

    @property
    def count(self) -> int:
        """How many tenancies stay."""
        return sum(times for _, times in self.kept)


def matches(gpu: str, runs: Sequence[Tenancy], wants: Sequence[Tenancy], *, fixed_starts: bool = False) -> list[Match]:
    """
    Returns every way to keep tenancies of which no other keeps as many of each kind and more of one; best first.

    Parameters
    ----------
    runs, wants
        The contents of a GPU before and after.
    fixed_starts
        True: the new plan's instances must stand where it says.
    """
    common = by_kind(runs) & by_kind(wants)
    if not common:
        return []
    if wants[0].sharing != "mig":
        return [Match(tuple(sorted(common.items(), key=repr)), None)]
    own = layout(wants)
    candidates = [own, *(() if fixed_starts else _layouts(gpu, multiset_of(own)))]
    found: dict[tuple[tuple[TenancyKind, int], ...], Layout] = {}
    for candidate in candidates:
        kept = _kept(runs, wants, candidate, fixed_starts)
        if kept:
            found.setdefault(tuple(sorted(kept.items(), key=repr)), candidate)
        if kept == common:
            return [Match(tuple(sorted(kept.items(), key=repr)), candidate)]
    counts = {key: Counter(dict(key)) for key in found}
    best = [key for key in found if not any(counts[key] < other for other in counts.values())]
    return sorted((Match(key, found[key]) for key in best), key=lambda match: -match.count)


def placed(runs: Sequence[Tenancy], wants: Sequence[Tenancy], match: Match | None) -> tuple[list[int], list[Tenancy]]:
    """
    Returns which of the running tenancies stay, as indices, and the others that come, each with its start.

    Parameters
    ----------
    match
        None: nothing stays, and the new plan's starts hold.
    """
    if match is None:
        return [], list(wants)
    if wants[0].sharing == "cores":
        stay, coming, _ = as_planned(runs, wants)
        return stay, [*coming]
    left = Counter(dict(match.kept))
    places = set(match.layout or ())
    asked = {(one.start, one.kind) for one in wants}
    # Of equal ones those stay that stand where the plan says: where starts are fixed, no others may.
    stay = []
    for i in sorted(range(len(runs)), key=lambda i: (runs[i].start, runs[i].kind) not in asked):
        if left[runs[i].kind] and (match.layout is None or placement(runs[i]) in places):
            left[runs[i].kind] -= 1
            stay.append(i)
    stay.sort()
    kept = Counter(runs[i].kind for i in stay)
    there = {(runs[i].start, runs[i].kind) for i in stay}
    met = set()
    for j in sorted(range(len(wants)), key=lambda j: (wants[j].start, wants[j].kind) not in there):
        if kept[wants[j].kind]:
            kept[wants[j].kind] -= 1
            met.add(j)
    coming = [one for j, one in enumerate(wants) if j not in met]
    if match.layout is None:
        return stay, coming
    free: defaultdict[str, list[int]] = defaultdict(list)
    for place in sorted(places - {placement(runs[i]) for i in stay}, reverse=True):
        free[place.profile].append(place.start)
    # Those that want a place that is free get it; the others take what is left.
    settled = []
    for one in coming:
        starts = free[placement(one).profile]
        if one.start in starts:
            starts.remove(one.start)
            settled.append(one)
    rest = list(coming)
    for one in settled:
        rest.remove(one)
    return stay, [*settled, *(replace(one, start=free[placement(one).profile].pop()) for one in rest)]


def _kept(
    runs: Sequence[Tenancy], wants: Sequence[Tenancy], candidate: Layout, fixed_starts: bool
) -> Counter[TenancyKind]:
    places = set(candidate)
    staying = [one for one in runs if placement(one) in places]
    if not fixed_starts:
        return by_kind(staying) & by_kind(wants)
    wanted = {(one.start, one.kind) for one in wants}
    return by_kind([one for one in staying if (one.start, one.kind) in wanted])


def _layouts(gpu: str, wanted: Multiset) -> tuple[Layout, ...]:
    return _layouts_by_multiset(gpu).get(wanted, ())


@cache
def _layouts_by_multiset(gpu: str) -> dict[Multiset, tuple[Layout, ...]]:
    grouped: dict[Multiset, list[Layout]] = {}
    for one in valid_layouts(rules_of(gpu)):
        grouped.setdefault(multiset_of(one), []).append(one)
    return {key: tuple(layouts) for key, layouts in grouped.items()}
