"""
What an exact planner may put on GPUs under MPS: items, and the recipes by which items make up a workload.

An item is a workload of some class, or a part of its rate, as one resident of a GPU of one type, with the batch
sizes that it may use there. Workloads that are alike in everything that matters are one class with a count.

Under the rules `free` a workload is served by one resident, or, unless max_replicas forbids it, by equal parts, as
few as possible and one more, or by a third and two thirds. Under `igniter` it is one resident with the batch size
of eq. 17, or dedicated GPUs and a rest (performance/igniter_rules.py).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...performance.alone import alone_on
from ...performance.igniter_rules import Demand, IgniterDemands, alone_units, demands
from ...performance.interference.prediction import Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem

SPLIT_FROM = 0.25
"""Parts of a workload are offered where it needs more than this part of a GPU alone; smaller ones fill gaps whole."""


@dataclass(frozen=True)
class Item:
    """One kind of resident of GPUs of one type."""

    gpu: str
    workload: int
    """Any workload of the class."""
    part: float
    """Of the workload's rate."""
    limit_ms: float
    required_rps: float
    batches: tuple[int, ...]
    memory_mib: float
    dedicated: bool = False
    """It takes a GPU for itself."""


@dataclass(frozen=True)
class WorkloadClass:
    """Workloads that are alike, and how residents can serve one of them."""

    members: tuple[int, ...]
    recipes: tuple[tuple[int, ...], ...]
    """Each a multiset of items; together they carry the rate of one workload."""


@dataclass(frozen=True)
class MpsItems:
    """All items of a problem, and the classes that they serve."""

    items: tuple[Item, ...]
    classes: tuple[WorkloadClass, ...]
    splits: bool
    """Whether some workload may be served in more ways than the recipes list, by other parts of its rate."""


def classes_of(resolved: ResolvedProblem) -> list[tuple[int, ...]]:
    """Returns the workloads that are alike in model, rate, SLO and restrictions, each class in their order."""
    groups: dict[object, list[int]] = {}
    for w, workload in enumerate(resolved.problem.workloads):
        groups.setdefault(workload.model_copy(update={"name": "same"}), []).append(w)
    return [tuple(members) for members in groups.values()]


def mps_items(resolved: ResolvedProblem, *, parts: bool) -> MpsItems:
    """
    Returns the items of a problem on all its types under MPS.

    Parameters
    ----------
    parts
        Under `free`: whether a workload that fits a GPU may be split over several.
    """
    items: list[Item] = []
    classes = []
    splits = False
    greatest = {gpu: alone_on(mps, resolved.limit_ms).greatest_rps for gpu, mps in resolved.mps.items()}
    for members in classes_of(resolved):
        workload = resolved.problem.workloads[members[0]]
        recipes: list[tuple[int, ...]] = []
        for mps in resolved.mps.values():
            if not mps.usable[members[0]]:
                continue
            if resolved.problem.settings.mps_rules == "igniter":
                offered = _igniter_recipes(resolved, mps, members[0])
            else:
                offered = _free_recipes(resolved, mps, members[0], float(greatest[mps.gpu][members[0]]), parts)
                splits |= workload.max_replicas != 1
            for recipe in offered:
                if workload.min_replicas <= len(recipe) <= (workload.max_replicas or len(recipe)):
                    recipes.append(tuple(_index(items, item) for item in recipe))
        classes.append(WorkloadClass(members, tuple(recipes)))
    return MpsItems(tuple(items), tuple(classes), splits)


def _index(items: list[Item], item: Item) -> int:
    if item not in items[-8:]:
        items.append(item)
    return len(items) - 1 - items[::-1].index(item)


def _igniter_recipes(resolved: ResolvedProblem, mps: MpsType, w: int) -> list[list[Item]]:
    asked = demands(resolved, mps, [w])
    if not isinstance(asked, IgniterDemands):
        return []
    residents = [(one, True) for one in asked.dedicated] + [(one, False) for one in asked.shared]
    return [[_item(resolved, mps, one, dedicated) for one, dedicated in residents]]


def _item(resolved: ResolvedProblem, mps: MpsType, one: Demand, dedicated: bool) -> Item:
    part = min(1.0, one.required_rps / float(resolved.required_rps[one.workload]))
    return Item(
        mps.gpu, one.workload, part, one.limit_ms, one.required_rps, (one.batch,), one.memory_mib, dedicated=dedicated
    )


def _free_recipes(resolved: ResolvedProblem, mps: MpsType, w: int, greatest: float, parts: bool) -> list[list[Item]]:
    """`greatest`: most requests/s of the workload that a GPU carries for it alone."""
    workload = resolved.problem.workloads[w]
    limit_ms = float(resolved.limit_ms[w])
    if greatest <= 0:
        return []
    required = float(resolved.required_rps[w])
    fewest = int(np.ceil(required / greatest - 1e-9))
    counts = {max(fewest, workload.min_replicas)}
    shares: list[list[float]] = []
    if workload.max_replicas is None or workload.max_replicas > 1:
        small = fewest == 1 and least_part(resolved, mps, w) <= SPLIT_FROM
        if parts and not small:
            counts |= {max(fewest, workload.min_replicas) + 1}
            shares += [[1 / 3, 2 / 3]] if fewest == 1 else []
        if fewest > 1:
            # As many full GPUs as the rate fills, and a rest.
            full = greatest / required
            whole = int(1 / full + 1e-9)
            shares.append([full] * whole + ([1 - whole * full] if whole * full < 1 - 1e-9 else []))
    shares += [[1 / count] * count for count in sorted(counts)]
    batches = tuple(mps.batches[w].tolist())
    memory = float(mps.demand_mib[w])
    return [
        [Item(mps.gpu, w, part, limit_ms, required * part, batches, memory) for part in recipe] for recipe in shares
    ]


def least_part(resolved: ResolvedProblem, mps: MpsType, w: int) -> float:
    """Returns the part of a GPU that a workload needs alone with its best batch size; inf: a GPU is not enough."""
    batches = mps.batches[w]
    own = np.full(len(batches), w)
    limit, required = np.full(len(batches), resolved.limit_ms[w]), np.full(len(batches), resolved.required_rps[w])
    units, fits = alone_units(mps, own, batches, limit, required)
    least: Ints = units[fits]
    return float(least.min()) / mps.capacity_units if least.size else np.inf


def multiplicities(recipe: Sequence[int]) -> dict[int, int]:
    """Returns how often a recipe holds each item."""
    return dict(Counter(recipe))
