"""
What could still be added to the instances of a GPU, by a sweep over its placement units.

From left to right each unit stays free, or an instance of some profile starts there, as far as compute slices, media
engines and the greatest numbers of the profiles go. The metrics list layouts instead (geometry.py), whose code is not
used here. Of one profile alone most fit where each starts at the leftmost place that is left, as all are equally long.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ..model.catalogue import load_catalogue
from ..model.hardware import Engine, MigGeometry

WHOLE_ENGINES: tuple[Engine, ...] = ("dec", "enc", "jpeg", "ofa")

Amounts = tuple[int, ...]
"""Compute slices, engines (none where those of the GPU are unknown), and of each profile its instances."""


class Room(NamedTuple):
    """What is left of a cut GPU, in the words of `GpuCut`."""

    free_compute_slices: int
    free_memory_slices: int
    wasted_compute_slices: int
    wasted_memory_slices: int
    addable: dict[str, int]


class _Kind(NamedTuple):
    """A MIG profile and what an instance of it takes."""

    name: str
    starts: tuple[int, ...]
    compute: int
    memory: int
    needs: Amounts

    def at(self, start: int) -> int:
        """Returns the placement units of an instance as bits."""
        return ((1 << self.memory) - 1) << start


@cache
def room(gpu: str, places: tuple[tuple[int | None, str | None], ...]) -> Room:
    """Returns what is left beside instances, each a start and a MIG profile, that fit together."""
    kinds = {kind.name: kind for kind in _kinds(gpu)}
    left, free_memory, occupied = _limits(gpu), _geometry(gpu).placement_units, 0
    for start, name in places:
        kind = kinds[name or ""]
        left, free_memory, occupied = _less(left, kind.needs), free_memory - kind.memory, occupied | kind.at(start or 0)
    compute, memory = _most(gpu, 0, occupied, left)
    addable = {kind.name: _most_of_one(kind, occupied, left) for kind in _kinds(gpu)}
    return Room(
        free_compute_slices=left[0],
        free_memory_slices=free_memory,
        wasted_compute_slices=left[0] - compute,
        wasted_memory_slices=free_memory - memory,
        addable={name: number for name, number in addable.items() if number},
    )


@cache
def _most(gpu: str, unit: int, occupied: int, left: Amounts) -> tuple[int, int]:
    """Returns the most compute slices, and the most memory slices, that instances from a unit on can take."""
    if unit == _geometry(gpu).placement_units:
        return 0, 0
    compute, memory = _most(gpu, unit + 1, occupied, left)
    for kind in _kinds(gpu):
        if unit in kind.starts and not occupied & kind.at(unit) and min(rest := _less(left, kind.needs)) >= 0:
            more_compute, more_memory = _most(gpu, unit + kind.memory, occupied, rest)
            compute, memory = max(compute, kind.compute + more_compute), max(memory, kind.memory + more_memory)
    return compute, memory


def most_worth(gpu: str, usd: Mapping[str, float]) -> float:
    """Returns the most that the instances of an empty GPU are worth together; `usd`: what each MIG profile is worth."""
    wanted = [kind for kind in _kinds(gpu) if usd.get(kind.name, 0.0) > 0]

    @cache
    def most(unit: int, left: Amounts) -> float:
        if unit == _geometry(gpu).placement_units:
            return 0.0
        found = most(unit + 1, left)
        for kind in wanted:
            if unit in kind.starts and min(rest := _less(left, kind.needs)) >= 0:
                found = max(found, usd[kind.name] + most(unit + kind.memory, rest))
        return found

    return most(0, _limits(gpu))


def _most_of_one(kind: _Kind, occupied: int, left: Amounts) -> int:
    """Returns how many instances of one profile could be added at once."""
    number = 0
    for start in sorted(kind.starts):
        if not occupied & kind.at(start) and min(rest := _less(left, kind.needs)) >= 0:
            number, left, occupied = number + 1, rest, occupied | kind.at(start)
    return number


@cache
def _geometry(gpu: str) -> MigGeometry:
    geometry = load_catalogue()[gpu].mig
    if geometry is None:
        raise ValueError(f"{gpu} has no MIG")
    return geometry


@cache
def _limits(gpu: str) -> Amounts:
    """Returns what an empty GPU has."""
    geometry = _geometry(gpu)
    engines = _engines(geometry, geometry.full.engines)
    return (geometry.compute_slices, *engines, *(profile.max_count for profile in geometry.profiles))


@cache
def _kinds(gpu: str) -> tuple[_Kind, ...]:
    geometry = _geometry(gpu)
    found = []
    for profile in geometry.profiles:
        own = [int(other.name == profile.name) for other in geometry.profiles]
        needs = (profile.compute_slices, *_engines(geometry, profile.engines), *own)
        found.append(_Kind(profile.name, profile.starts, profile.compute_slices, profile.memory_slices, needs))
    return tuple(found)


def _engines(geometry: MigGeometry, of: Mapping[Engine, int] | None) -> list[int]:
    known = geometry.full.engines is not None
    return [(of or {}).get(engine, 0) for engine in WHOLE_ENGINES if known]


def _less(left: Amounts, needed: Amounts) -> Amounts:
    return tuple([have - take for have, take in zip(left, needed, strict=True)])
