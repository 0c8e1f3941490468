"""
Which MIG instances fit together on one GPU, and where they may start.

A placement is an interval on the axis of placement units (memory slices): a legal start and the profile's
size. Instances coexist if their intervals are disjoint, their compute slices and their media engines are
within what the GPU has, and no profile exceeds its own maximum (NVIDIA MIG User Guide, "Supported MIG
Profiles"; nvml.h, nvmlGpuInstancePlacement_t). The media engines of a GPU are taken to be those of its
full-size profile: this reproduces "only one +me", and that +me.all leaves room for -me profiles only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from operator import add, le

from .hardware import Engine, MigGeometry

ENGINES: tuple[Engine, ...] = ("dec", "enc", "jpeg", "ofa")
"""Engines that are handed out whole; copy engines are shared and do not limit what fits."""


BALANCED = {7: (3, 2, 1, 1), 4: (2, 1, 1)}
"""
NVIDIA's all-balanced layout, which the GPU operator makes: compute slices of a GPU -> compute slices of its instances
(NVIDIA/mig-parted, pkg/mig/builder/balanced.go).
"""


@dataclass(frozen=True, order=True)
class Placement:
    """A MIG instance on the axis: its first placement unit and its profile."""

    start: int
    profile: str


Layout = tuple[Placement, ...]
"""The instances of one GPU, in the order of their starts."""

Multiset = tuple[str, ...]
"""The profiles of the instances of one GPU, sorted by name; positions forgotten."""


@dataclass(frozen=True)
class ProfileRule:
    """What placing an instance of one profile takes."""

    name: str
    compute_slices: int
    memory_slices: int
    starts: tuple[int, ...]
    max_count: int
    engines: tuple[int, ...] | None


@dataclass(frozen=True)
class PlacementRules:
    """The rules of one GPU type, restricted to some of its profiles."""

    compute_slices: int
    placement_units: int
    engines: tuple[int, ...] | None
    profiles: tuple[ProfileRule, ...]

    @cached_property
    def by_name(self) -> dict[str, ProfileRule]:
        """The rule of each profile."""
        return {rule.name: rule for rule in self.profiles}


def placement_rules(geometry: MigGeometry, profiles: Iterable[str] | None = None) -> PlacementRules:
    """
    Returns the placement rules of a GPU type.

    Parameters
    ----------
    profiles
        Names of the profiles to keep; None: all. Unknown names are ignored.
    """
    kept = None if profiles is None else set(profiles)
    full = geometry.full.engines
    return PlacementRules(
        compute_slices=geometry.compute_slices,
        placement_units=geometry.placement_units,
        engines=None if full is None else tuple(full.get(engine, 0) for engine in ENGINES),
        profiles=tuple(
            ProfileRule(
                name=profile.name,
                compute_slices=profile.compute_slices,
                memory_slices=profile.memory_slices,
                starts=profile.starts,
                max_count=profile.max_count,
                engines=None
                if profile.engines is None
                else tuple(profile.engines.get(engine, 0) for engine in ENGINES),
            )
            for profile in geometry.profiles
            if kept is None or profile.name in kept
        ),
    )


def fits(rules: PlacementRules, layout: Layout, added: Placement) -> bool:
    """Tells whether an instance can be added to a layout that obeys the rules."""
    rule = rules.by_name[added.profile]
    if added.start not in rule.starts:
        return False
    present = [(placement.start, rules.by_name[placement.profile]) for placement in layout]
    if _overlaps(added.start, rule, present):
        return False
    return _has_room(rules, _taken(other for _, other in present), rule)


def _overlaps(start: int, rule: ProfileRule, present: Iterable[tuple[int, ProfileRule]]) -> bool:
    """Tells whether an instance at a start would share a placement unit with one of those that are present."""
    return any(
        start < other_start + other.memory_slices and other_start < start + rule.memory_slices
        for other_start, other in present
    )


_Taken = tuple[tuple[str, ...], int, tuple[int, ...] | None]
"""What the instances of a layout take: their profiles, compute slices, and engines (None: of none of them known)."""


def _taken(rules: Iterable[ProfileRule]) -> _Taken:
    """Returns what instances of these rules take."""
    taken: _Taken = ((), 0, None)
    for rule in rules:
        taken = _and(taken, rule)
    return taken


def _and(taken: _Taken, rule: ProfileRule) -> _Taken:
    """Returns what is taken with an instance more."""
    names, compute, engines = taken
    if rule.engines is not None:
        engines = rule.engines if engines is None else tuple(map(add, engines, rule.engines))
    return (*names, rule.name), compute + rule.compute_slices, engines


def _has_room(rules: PlacementRules, taken: _Taken, rule: ProfileRule) -> bool:
    """Tells whether an instance can be added to what is taken, wherever it stands."""
    names, compute, engines = taken
    if compute + rule.compute_slices > rules.compute_slices or names.count(rule.name) >= rule.max_count:
        return False
    if rules.engines is None or rule.engines is None:
        return True
    needed = rule.engines if engines is None else map(add, engines, rule.engines)
    return all(map(le, needed, rules.engines))


@cache
def valid_layouts(rules: PlacementRules) -> tuple[Layout, ...]:
    """Returns every layout that obeys the rules, the empty one first."""
    return tuple(additions(rules, ()))


def additions(rules: PlacementRules, layout: Layout) -> Iterator[Layout]:
    """Yields all that could be added together to a layout that obeys the rules, first nothing; in order of starts."""
    present = [(placement.start, rules.by_name[placement.profile]) for placement in layout]
    starting = [
        [
            (Placement(start, rule.name), rule)
            for rule in rules.profiles
            if start in rule.starts and not _overlaps(start, rule, present)
        ]
        for start in range(rules.placement_units)
    ]

    # One instance after the other from the first unit on, so that none overlaps.
    def grown(added: Layout, taken: _Taken, from_start: int) -> Iterator[Layout]:
        yield added
        for start in range(from_start, rules.placement_units):
            for placement, rule in starting[start]:
                if _has_room(rules, taken, rule):
                    yield from grown((*added, placement), _and(taken, rule), start + rule.memory_slices)

    return grown((), _taken(rule for _, rule in present), 0)


def addable_placements(rules: PlacementRules, layout: Layout) -> tuple[Placement, ...]:
    """Returns every placement that could be added next to a layout."""
    return tuple(
        added
        for rule in rules.profiles
        for start in rule.starts
        if fits(rules, layout, added := Placement(start, rule.name))
    )


@cache
def maximal_layouts(rules: PlacementRules) -> tuple[Layout, ...]:
    """
    Returns the layouts to which nothing can be added.

    What obeys the rules still does when an instance is taken away. So a layout to which one can be added is another
    layout without one of its instances, and no other layout is.
    """
    layouts = valid_layouts(rules)
    grow = {(*layout[:i], *layout[i + 1 :]) for layout in layouts for i in range(len(layout))}
    return tuple(layout for layout in layouts if layout not in grow)


@cache
def maximal_multisets(rules: PlacementRules) -> tuple[Multiset, ...]:
    """
    Returns the multisets of profiles that fit on one GPU and are contained in no other that fits.

    They are enough for planning: a plan that uses a smaller multiset uses a part of one of these.
    """
    counts = {multiset(layout): Counter(multiset(layout)) for layout in maximal_layouts(rules)}
    return tuple(
        sorted(
            candidate
            for candidate, count in counts.items()
            if not any(other != candidate and count <= counts[other] for other in counts)
        )
    )


@cache
def all_multisets(rules: PlacementRules) -> tuple[Multiset, ...]:
    """Returns every multiset of profiles that fits on one GPU, but the empty one."""
    return tuple(sorted({multiset(layout) for layout in valid_layouts(rules)} - {()}))


def multiset(layout: Layout) -> Multiset:
    """Returns the profiles of a layout, positions forgotten."""
    return tuple(sorted(placement.profile for placement in layout))


@cache
def most_addable(rules: PlacementRules, layout: Layout, profile: str) -> int:
    """Returns how many instances of one profile could still be added to a layout at once."""
    only = [added for added in addable_placements(rules, layout) if added.profile == profile]
    return max((1 + most_addable(rules, _with(layout, added), profile) for added in only), default=0)


@cache
def roomiest_layout(rules: PlacementRules, wanted: Multiset) -> Layout | None:
    """
    Returns the layout of a multiset that leaves the best room for later instances.

    Best room: most instances of the largest profile could still be added, then of the next smaller one;
    among equals the lowest starts. None: the multiset does not fit on one GPU.
    """
    largest_first = sorted(rules.profiles, key=lambda rule: (-rule.memory_slices, -rule.compute_slices, rule.name))

    def room(layout: Layout) -> tuple[int, ...]:
        return tuple(-most_addable(rules, layout, rule.name) for rule in largest_first)

    candidates = _layouts_of(rules).get(wanted, ())
    return min(candidates, key=lambda layout: (room(layout), layout), default=None)


@cache
def _layouts_of(rules: PlacementRules) -> dict[Multiset, tuple[Layout, ...]]:
    grouped: dict[Multiset, list[Layout]] = {}
    for layout in valid_layouts(rules):
        grouped.setdefault(multiset(layout), []).append(layout)
    return {key: tuple(layouts) for key, layouts in grouped.items()}


def _with(layout: Layout, added: Placement) -> Layout:
    return tuple(sorted((*layout, added)))
