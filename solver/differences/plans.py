"""
What differs between two plans: figures, GPUs, partitions, and the workloads that moved.

The running number of a GPU that is not assigned to a node says nothing outside its plan, so a workload has moved if
the kinds of its partitions changed, or the node and GPU where the plan names them; not if the GPUs were renumbered.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from ..model.plan import Partition, Plan, PlannedGpu, Served
from .change import Change

KeyT = TypeVar("KeyT", str, tuple[str, str])

FIGURES = ("planner", "status", "cost_per_hour", "gpus_used", "gap")


@dataclass(frozen=True, order=True)
class Place:
    """Where a workload runs."""

    gpu: str
    """GPU type."""
    size: str
    """MIG profile, share of an MPS GPU, or `whole`."""
    node: str
    """Empty: not assigned to a node."""
    index: int
    """GPU of the node; -1: not assigned to a node."""

    def __str__(self) -> str:
        where = f" on {self.node}, GPU {self.index}" if self.node else ""
        return f"{self.gpu} {self.size}{where}"


Tuning = tuple[int, int, float]
"""Batch size, processes and rate (requests/s) of a workload in a place."""

Places = dict[str, list[tuple[Place, Tuning]]]
"""Workload -> where it runs, and how, sorted."""


@dataclass(frozen=True)
class Move:
    """A workload whose partitions are others."""

    workload: str
    old: tuple[Place, ...]
    """Sorted; empty: it was not served."""
    new: tuple[Place, ...]


@dataclass(frozen=True)
class PlanDifference:
    """Two plans side by side; only what differs."""

    figures: tuple[Change, ...]
    """The problem answered, planner, status, cost, GPUs used, bound, gap."""
    gpus: dict[str, tuple[int, int]]
    """GPU type -> how many before and after."""
    partitions: dict[tuple[str, str], tuple[int, int]]
    """(GPU type, size) -> how many before and after, free ones included."""
    moved: tuple[Move, ...]
    retuned: tuple[str, ...]
    """Workloads in the same places with another batch size, number of processes or share of the rate."""

    def __bool__(self) -> bool:
        return bool(self.figures or self.gpus or self.partitions or self.moved or self.retuned)


def difference(old: Plan, new: Plan, *, with_nodes: bool = True) -> PlanDifference:
    """
    Returns what differs between two plans, of the same problem or not; falsy: nothing.

    `with_nodes` False: a workload on the same kinds of partitions of other GPUs has not moved, though both are named.
    """
    before, after = places(old, with_nodes=with_nodes), places(new, with_nodes=with_nodes)
    retuned = [
        workload
        for workload in sorted(before.keys() & after.keys())
        if before[workload] != after[workload] and _only_places(before[workload]) == _only_places(after[workload])
    ]
    gpus = _counts(Counter(gpu.gpu for gpu in old.gpus), Counter(gpu.gpu for gpu in new.gpus))
    partitions = _counts(Counter(_partitions(old)), Counter(_partitions(new)))
    return PlanDifference(tuple(_figures(old, new)), gpus, partitions, moves(before, after), tuple(retuned))


def moves(before: Places, after: Places) -> tuple[Move, ...]:
    """Returns the workloads that moved between two plans, by name; a screen that shows no more need not know more."""
    found = []
    for workload in sorted(before.keys() | after.keys()):
        was, now = before.get(workload, []), after.get(workload, [])
        if was != now and (old := _only_places(was)) != (new := _only_places(now)):
            found.append(Move(workload, old, new))
    return tuple(found)


def _only_places(tuned: Sequence[tuple[Place, Tuning]]) -> tuple[Place, ...]:
    return tuple(place for place, _ in tuned)


def _figures(old: Plan, new: Plan) -> Iterator[Change]:
    pairs: dict[tuple[str, ...], tuple[Any, Any]] = {("problem",): (old.problem.sha256, new.problem.sha256)}
    pairs |= {(field,): (getattr(old, field), getattr(new, field)) for field in FIGURES}
    pairs |= {
        ("bound", field): (getattr(old.bound, field), getattr(new.bound, field)) for field in ("cost_per_hour", "gpus")
    }
    for path, (was, now) in pairs.items():
        if was != now:
            yield Change("changed", path, was, now)


def places(plan: Plan, *, with_nodes: bool = True) -> Places:
    """Returns for each workload where it runs, sorted; `with_nodes` as `difference` has it."""
    found: Places = {}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            place = _place(gpu, partition, with_nodes)
            for served in partition.serves:
                found.setdefault(served.workload, []).append((place, _tuning(served)))
    for of_one in found.values():
        if len(of_one) > 1:
            of_one.sort()
    return found


def _place(gpu: PlannedGpu, partition: Partition, with_nodes: bool) -> Place:
    if not with_nodes:
        return _made_place(gpu.gpu, _size(partition), "", -1)
    return _made_place(gpu.gpu, _size(partition), gpu.node or "", -1 if gpu.index is None else gpu.index)


@lru_cache(maxsize=4096)
def _made_place(gpu: str, size: str, node: str, index: int) -> Place:
    """Returns a place; without nodes thousands of partitions are in a few of them, and what is one object is equal."""
    return Place(gpu, size, node, index)


def _tuning(served: Served) -> Tuning:
    return served.batch, served.processes, served.rate_rps


def _size(partition: Partition) -> str:
    if partition.kind is not None:
        return partition.kind
    return "whole" if partition.sm_percent is None else f"{partition.sm_percent:g} %"


def _partitions(plan: Plan) -> Iterator[tuple[str, str]]:
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            yield gpu.gpu, _size(partition)


def _counts(old: Counter[KeyT], new: Counter[KeyT]) -> dict[KeyT, tuple[int, int]]:
    return {key: (old[key], new[key]) for key in sorted(old.keys() | new.keys()) if old[key] != new[key]}
