"""Verification of a plan's GPUs as a fleet: of its types, as many as there are, each named and placed once."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

import numpy as np

from ..metrics.plan_columns import PlanColumns
from ..model.plan import Plan, PlannedGpu
from ..model.problem import FleetEntry, Problem
from ..wording.sharing_words import sharing_in_prose
from .turns import wrong_form
from .violation import Violation

Value = TypeVar("Value", bound=Hashable)


def used_gpus(plan: Plan, columns: PlanColumns) -> dict[str, int]:
    """Returns how many GPUs of each type a plan uses."""
    used: Counter[str] = Counter()
    for example, alike in zip(columns.example.tolist(), np.bincount(columns.division).tolist(), strict=True):
        used[plan.gpus[example].gpu] += alike
    return used


def wrong_fleet(problem: Problem, plan: Plan, columns: PlanColumns) -> Iterator[Violation]:
    """GPUs are of the fleet, no more than there are, each named and placed once."""
    entries = {entry.gpu: entry for entry in problem.fleet}
    ids = list(map(attrgetter("id"), plan.gpus))
    placed = list(map(attrgetter("node", "index"), plan.gpus))
    on_nodes = placed.count((None, None)) < len(placed)
    yield from _wrong_counts(entries, used_gpus(plan, columns))
    for gpu_id, times in _repeated(ids):
        yield Violation(gpu_id, f"is listed {times} times")
    yield from _wrong_ids(plan, columns, ids)
    for (node, index), times in _repeated([place for place in placed if place[0] is not None] if on_nodes else ()):
        yield Violation("plan", f"GPU {index} of node {node} is used {times} times")
    yield from _turns_and_shares(problem, plan, columns)
    examples = (plan.gpus[example] for example in columns.example.tolist())
    if on_nodes or any(gpu.gpu in entries and gpu.sharing not in entries[gpu.gpu].sharing for gpu in examples):
        for gpu in plan.gpus:
            yield from _wrong_place(gpu, entries.get(gpu.gpu))


def _wrong_counts(entries: Mapping[str, FleetEntry], used_of: Mapping[str, int]) -> Iterator[Violation]:
    """The types are of the fleet, and no more are used than there are."""
    for gpu_type, used in used_of.items():
        entry = entries.get(gpu_type)
        if entry is None:
            yield Violation("plan", f"uses {gpu_type}, which is not in the fleet")
        elif entry.available is not None and used > entry.available:
            yield Violation("plan", f"uses {used} x {gpu_type}, but there are {entry.available}")


def _repeated(values: Sequence[Value]) -> Iterator[tuple[Value, int]]:
    """Yields what is there more than once, and how often."""
    # Counting takes longer than finding that there is nothing to count, in plans of a million GPUs.
    for value, times in Counter(values).items() if len(set(values)) < len(values) else ():
        if times > 1:
            yield value, times


def _turns_and_shares(problem: Problem, plan: Plan, columns: PlanColumns) -> Iterator[Violation]:
    """Services take turns only as the problem allows, and only GPUs under MPS are given by shares."""
    said = [list(map(attrgetter(field), columns.partitions)) for field in ("duty_cycle_ms", "turns")]
    turns = any(values.count(None) < len(values) for values in said)
    shares = any(percent is not None for *_, percent in columns.kinds)
    for gpu in plan.gpus if turns or shares else ():
        for partition in gpu.partitions:
            if turns:
                yield from wrong_form(problem, gpu.id, partition)
            if partition.sm_percent is not None and gpu.sharing != "mps":
                yield Violation(gpu.id, f"has sm_percent {partition.sm_percent:g}, but is not shared by MPS")


def _wrong_place(gpu: PlannedGpu, entry: FleetEntry | None) -> Iterator[Violation]:
    """A GPU is shared as its entry of the fleet allows, and is one of its node's, if it has a node."""
    if (gpu.node is None) != (gpu.index is None):
        yield Violation(gpu.id, f"has node {gpu.node} and index {gpu.index}; expected both or neither")
        return
    if entry is None:
        return
    if gpu.sharing not in entry.sharing:
        own = sharing_in_prose([gpu.sharing])
        yield Violation(gpu.id, f"is planned for {own}; the fleet allows {sharing_in_prose(entry.sharing)}")
    if entry.nodes is not None and gpu.node is not None:
        count = next((node.count for node in entry.nodes if node.name == gpu.node), 0)
        if (gpu.index or 0) >= count:
            yield Violation(gpu.id, f"is GPU {gpu.index} of node {gpu.node}, which has {count} of this type")


def _wrong_ids(plan: Plan, columns: PlanColumns, ids: Sequence[str]) -> Iterator[Violation]:
    """GPUs are named by their type and a number, or a name of a node's."""
    begins = [f"{plan.gpus[example].gpu}/" for example in columns.example.tolist()]
    of_gpu = list(map(begins.__getitem__, columns.division.tolist()))
    if all(map(str.startswith, ids, of_gpu)):
        return
    for gpu_id, begin in zip(ids, of_gpu, strict=True):
        if not gpu_id.startswith(begin):
            yield Violation(gpu_id, f"is the id of a {begin[:-1]}: expected {begin} and its number")
