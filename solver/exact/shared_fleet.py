"""
Fleets with GPUs under MPS, beside MIG and whole GPUs, solved jointly: type, sharing and contents of every GPU.

1. The sets of residents that fit a GPU are enumerated (shared_columns.py), and one integer program over them and over
   the cuts of MIG chooses the GPUs (shared_program.py, cutting_stock.py). Its columns are the feasible sets.
2. The lower bound. Where no rate may be split otherwise than the recipes say (the rules `igniter`, or max_replicas 1),
   every plan is a solution of that program with the possible sets for columns, so its dual bound holds. Where rates
   may be split in any way, every plan is a solution of the fluid program (shared_program.py), so that one's holds.
3. If a gap is left and rates may be split, recipes that split a workload join.
4. Where there are too many sets to list, columns are generated (generated_columns.py).
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..assembly import DecidedGpu, SharedGpu
from ..performance.resolve import ResolvedProblem
from .cost_steps import next_cost
from .cutting_stock import CuttingStockAnswer, solve_cutting_stock
from .decoding import cut_gpus, shared_gpus
from .generated_columns import generate_columns
from .shared_columns import Column, ItemTable, enumerate_columns, maximal
from .shared_items import SharedItems, classes_of, shared_items
from .shared_program import as_fluid, by_columns

SETS = (
    "dual bound of the program over all sets of residents that could fit a GPU (solver/exact/shared_columns.py) and "
    "all cuts of MIG: every plan is one of its solutions"
)
FLUID = (
    "dual bound of the fluid relaxation (solver/exact/shared_program.py): rates split in any way, each resident as "
    "fast as alone on its GPU; neighbours never make it faster, so every plan is one of its solutions"
)
GENERATED = (
    "Lagrangian bound of generated columns (solver/exact/generated_columns.py): their duals divided by the most that "
    "any set of residents could collect on a GPU, per unit of cost"
)


ALL_COLUMNS = 1_000
"""Columns up to which all are used, so that the second goal sees the shares of smaller sets too."""

GENERATING = 0.4
"""Part of the time that generating columns may take."""

PLANNING = 0.6
"""Part of the time then left that the first plan may take."""

MOST_PARTS = 30_000
"""Possible sets of a GPU type, parts of workloads included, after which their enumeration is given up."""


@dataclass(frozen=True)
class FleetAnswer:
    """The GPUs chosen, and what is proven about their cost."""

    stopped: Literal["proved", "time_limit", "infeasible", "gap_left"]
    solver: str
    cost_bound: float | None
    method: str
    gpus: list[DecidedGpu] | None
    """None: no plan was found."""


@dataclass(frozen=True)
class _Bound:
    cost: float | None
    method: str
    infeasible: bool


def solve_shared_fleet(
    resolved: ResolvedProblem,
    seeds: Sequence[SharedGpu],
    plans: Sequence[Sequence[SharedGpu]],
    *,
    time_limit_s: float,
) -> FleetAnswer:
    """
    Solves a fleet of which some GPUs may be shared by MPS; the module says how.

    Parameters
    ----------
    seeds
        GPUs under MPS with sets of residents that fit; where columns are generated, these are the first.
    plans
        Known plans that serve every workload and keep every limit. The cheapest of them is the answer if the time
        limit ends the search before a cheaper one is found.
    """
    deadline = time.monotonic() + time_limit_s
    shared = shared_items(resolved, parts=False)
    tables = tables_of(resolved, shared)
    listed = [enumerate_columns(table) for table in tables]
    columns = [column for of_type in listed for column in of_type.columns]
    generated_bound = None
    complete = all(of_type.complete for of_type in listed)
    if not complete:
        known = known_columns(resolved, shared, seeds)
        until = time.monotonic() + GENERATING * _left(deadline)
        generated = generate_columns(resolved, shared, tables, known, deadline=until)
        columns, generated_bound = generated.columns, generated.cost_bound
    # The rest is for the bound: a plan without one says nothing.
    planned_by = time.monotonic() + PLANNING * _left(deadline)
    answer = _planned(resolved, shared, _few(columns), planned_by)
    if shared.splits or not complete:
        bound = _fluid_bound(resolved, generated_bound, deadline)
    else:
        bound = _bound_over_sets(resolved, shared, columns, answer, deadline)
    if bound.infeasible:
        return FleetAnswer("infeasible", answer.solver, None, bound.method, None)
    cost = _cost(resolved, answer)
    if shared.splits and complete and not _proves(cost, bound.cost):
        parts = shared_items(resolved, parts=True)
        found = [enumerate_columns(table, most=MOST_PARTS) for table in tables_of(resolved, parts)]
        more = _few([column for of_type in found for column in of_type.columns])
        split = _planned(resolved, parts, more, deadline)
        split_cost = _cost(resolved, split)
        if split_cost is not None and (cost is None or split_cost < cost - 1e-9):
            answer, cost, shared = split, split_cost, parts
    # Only where every feasible set was listed, and no rate may be split further, does their failure prove anything.
    exhaustive = complete and not shared.splits
    found_plan = _answer(resolved, shared, answer, cost, bound, exhaustive)
    for plan in plans:
        price = sum(resolved.fleet_by_name[gpu.gpu].price_per_hour for gpu in plan)
        if cost is None or price < cost - 1e-9:
            stopped: Literal["proved", "time_limit"] = "proved" if _proves(price, bound.cost) else "time_limit"
            found_plan, cost = replace(found_plan, stopped=stopped, gpus=list(plan)), price
    return found_plan


def _planned(
    resolved: ResolvedProblem, shared: SharedItems, columns: Sequence[Column], deadline: float
) -> CuttingStockAnswer:
    return solve_cutting_stock(resolved, time_limit_s=_left(deadline), shared=by_columns(resolved, shared, columns))


def _bound_over_sets(
    resolved: ResolvedProblem,
    shared: SharedItems,
    columns: Sequence[Column],
    answer: CuttingStockAnswer,
    deadline: float,
) -> _Bound:
    """The bound of the program over all possible sets; the plan's own program if each of them is feasible."""
    if any(column.batches is None for column in columns):
        answer = solve_cutting_stock(
            resolved, time_limit_s=_left(deadline), shared=by_columns(resolved, shared, columns), fewest_slices=False
        )
    return _Bound(answer.cost_bound, SETS, answer.stopped == "infeasible")


def _fluid_bound(resolved: ResolvedProblem, generated: float | None, deadline: float) -> _Bound:
    """The bound of the fluid program, or that of generated columns where it is greater."""
    fluid = solve_cutting_stock(resolved, time_limit_s=_left(deadline), shared=as_fluid(resolved), fewest_slices=False)
    other = None if generated is None else next_cost(resolved, generated)
    if other is not None and (fluid.cost_bound is None or other > fluid.cost_bound):
        return _Bound(other, GENERATED, fluid.stopped == "infeasible")
    return _Bound(fluid.cost_bound, FLUID, fluid.stopped == "infeasible")


def known_columns(resolved: ResolvedProblem, shared: SharedItems, start: Sequence[SharedGpu]) -> list[Column]:
    """Returns the sets of residents of known GPUs, as far as their residents are items."""
    class_of = {w: members[0] for members in classes_of(resolved) for w in members}
    number = {(item.gpu, item.workload): i for i, item in enumerate(shared.items) if item.part == 1}
    columns = []
    # A workload with several residents is split; none of them carries all of its rate.
    residents_of = Counter((gpu.gpu, w) for gpu in start for w in gpu.workloads)
    for gpu in start:
        if any(residents_of[gpu.gpu, w] > 1 for w in gpu.workloads):
            continue
        keys = [(gpu.gpu, class_of[resident.workload]) for resident in gpu.residents]
        if not all(key in number for key in keys):
            continue
        residents = sorted((number[key], one) for key, one in zip(keys, gpu.residents, strict=True))
        units = round(sum(one.percent for _, one in residents) / resolved.mps[gpu.gpu].unit_percent)
        items, batches = tuple(item for item, _ in residents), tuple(one.batch for _, one in residents)
        columns.append(Column(gpu.gpu, items, batches, units))
    return columns


def _few(columns: Sequence[Column]) -> list[Column]:
    """Returns the feasible columns, or, where they are many, those that are no part of another."""
    feasible = [column for column in columns if column.batches is not None]
    return feasible if len(feasible) <= ALL_COLUMNS else maximal(feasible)


def tables_of(resolved: ResolvedProblem, shared: SharedItems) -> list[ItemTable]:
    """Returns the items of each GPU type that has some."""
    copies = np.zeros(len(shared.items), dtype=np.int64)
    for one in shared.classes:
        for recipe in one.recipes:
            for item in recipe:
                copies[item] = max(copies[item], recipe.count(item) * len(one.members))
    tables = []
    for gpu, mps in resolved.mps.items():
        numbers = [i for i, item in enumerate(shared.items) if item.gpu == gpu]
        if numbers:
            tables.append(ItemTable(mps, [shared.items[i] for i in numbers], numbers, copies[numbers]))
    return tables


def _answer(
    resolved: ResolvedProblem,
    shared: SharedItems,
    answer: CuttingStockAnswer,
    cost: float | None,
    bound: _Bound,
    exhaustive: bool,
) -> FleetAnswer:
    if cost is None or answer.patterns is None or answer.partitions is None:
        stopped: Literal["time_limit", "infeasible", "gap_left"] = "time_limit"
        if answer.stopped == "infeasible":
            stopped = "infeasible" if exhaustive else "gap_left"
        return FleetAnswer(stopped, answer.solver, bound.cost, bound.method, None)
    gpus: list[DecidedGpu] = [
        *cut_gpus(resolved, answer.patterns, answer.partitions),
        *shared_gpus(resolved, shared.items, answer.shared),
    ]
    if _proves(cost, bound.cost):
        return FleetAnswer("proved", answer.solver, bound.cost, bound.method, gpus)
    limited = answer.stopped == "time_limit"
    return FleetAnswer("time_limit" if limited else "gap_left", answer.solver, bound.cost, bound.method, gpus)


def _cost(resolved: ResolvedProblem, answer: CuttingStockAnswer) -> float | None:
    """Returns the cost of a plan; None: there is none."""
    if answer.patterns is None:
        return None
    used: Sequence[tuple[str, int]] = [(pattern.gpu, times) for pattern, times in answer.patterns]
    used = [*used, *((column.gpu, times) for column, times in answer.shared.columns)]
    return sum(resolved.fleet_by_name[gpu].price_per_hour * times for gpu, times in used)


def _proves(cost: float | None, bound: float | None) -> bool:
    return cost is not None and bound is not None and cost <= bound * (1 + 1e-9) + 1e-9


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.05)
