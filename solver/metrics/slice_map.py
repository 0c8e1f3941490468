"""The memory slices of a GPU that is cut by MIG: what each is used for, and what could still stand on it."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from ..model.catalogue import load_catalogue
from ..model.geometry import Layout, Placement, addable_placements, placement_rules
from ..model.plan import PlannedGpu


class SliceState(StrEnum):
    """What a memory slice is used for."""

    USED = "used"
    KEPT_FREE = "kept free"
    """Part of an instance that serves nothing, against trouble."""
    FREE = "free"
    """Some profile could still be created over it."""
    OUT_OF_REACH = "out of reach"
    """Free, and no profile can be created over it next to what is there."""


@dataclass(frozen=True)
class MemorySlice:
    """One memory slice of a GPU."""

    index: int
    state: SliceState
    profiles: tuple[str, ...]
    """MIG profiles of which an instance could be created over it, largest first; empty unless it is free."""


def slices_of(gpu: PlannedGpu) -> tuple[MemorySlice, ...]:
    """Returns the memory slices of a GPU of a plan in their order; none for a GPU that is not cut by MIG."""
    if gpu.sharing != "mig" or load_catalogue()[gpu.gpu].mig is None:
        return ()
    instances = sorted((part.start or 0, part.mig_profile or "", bool(part.serves)) for part in gpu.partitions)
    return _slices(gpu.gpu, tuple(instances))


@cache
def _slices(gpu: str, instances: tuple[tuple[int, str, bool], ...]) -> tuple[MemorySlice, ...]:
    mig = load_catalogue()[gpu].mig
    if mig is None:
        return ()
    rules = placement_rules(mig)
    known = [(start, name, serves) for start, name, serves in instances if name in rules.by_name]
    layout: Layout = tuple(Placement(start, name) for start, name, _ in known)
    taken: dict[int, SliceState] = {}
    for start, name, serves in known:
        for index in range(start, start + rules.by_name[name].memory_slices):
            taken[index] = SliceState.USED if serves else SliceState.KEPT_FREE
    over: dict[int, dict[str, None]] = {}
    largest_first = sorted(addable_placements(rules, layout), key=lambda one: -rules.by_name[one.profile].memory_slices)
    for added in largest_first:
        for index in range(added.start, added.start + rules.by_name[added.profile].memory_slices):
            over.setdefault(index, {})[added.profile] = None
    return tuple(
        MemorySlice(
            index,
            taken.get(index, SliceState.FREE if index in over else SliceState.OUT_OF_REACH),
            tuple(over.get(index, ())),
        )
        for index in range(rules.placement_units)
    )
