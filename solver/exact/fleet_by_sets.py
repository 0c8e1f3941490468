"""
Fleets with GPUs under MPS, beside MIG and whole GPUs, as one program over sets of residents.

1. The sets of residents that fit a GPU are enumerated (shared_columns.py), and one integer program over them and over
   the cuts of MIG chooses the GPUs (shared_program.py, cutting_stock.py). Its columns are the feasible sets.
2. The lower bound. Where no rate may be split otherwise than the recipes say (the rules `igniter`, or max_replicas 1),
   every plan is a solution of that program with the possible sets for columns, so its dual bound holds. Where rates
   may be split in any way, every plan is a solution of the fluid program (shared_program.py), so that one's holds.
3. If a gap is left and rates may be split, recipes that split a workload join.
4. Where there are too many sets to list, columns are generated (generated_columns.py).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..decided import DecidedGpu, SharedGpu
from ..performance.resolve import ResolvedProblem
from .cost_steps import NO_GAP, cost_steps
from .cutting_stock import CuttingStockAnswer, solve_cutting_stock
from .decoding import cut_gpus, shared_gpus
from .fleet_answer import FleetAnswer, price_of
from .generated_columns import generate_columns
from .proof import ended, is_within
from .shared_columns import (
    Column,
    Columns,
    ItemTable,
    columns_of_gpus,
    enumerate_columns,
    few_columns,
    item_tables,
)
from .shared_items import SharedItems, shared_items
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


GENERATING = 0.4
"""Part of the time that generating columns may take."""

PLANNING = 0.6
"""Part of the time then left that the first plan may take."""

MOST_PARTS = 30_000
"""Possible sets of a GPU type, parts of workloads included, after which their enumeration is given up."""


MOST_SPLIT = 12_000
"""Columns with parts of workloads up to which their program is tried; HiGHS keeps no time limit in larger ones."""


@dataclass(frozen=True)
class _Bound:
    cost: float | None
    method: str
    infeasible: bool
    limited: bool = False
    """Whether a time limit ended the program that it comes from."""


@dataclass(frozen=True)
class ListedSets:
    """What may stand on GPUs under MPS, and the possible sets of it on each GPU type."""

    shared: SharedItems
    tables: Sequence[ItemTable]
    listed: Sequence[Columns]

    @property
    def complete(self) -> bool:
        """Whether these are all possible sets."""
        return all(of_type.complete for of_type in self.listed)


def list_sets(resolved: ResolvedProblem) -> ListedSets:
    """Lists the possible sets, as far as they are not too many."""
    shared = shared_items(resolved, parts=False)
    tables = item_tables(resolved, shared)
    return ListedSets(shared, tables, [enumerate_columns(table) for table in tables])


def solve_by_sets(
    resolved: ResolvedProblem,
    sets: ListedSets,
    place: Callable[[ResolvedProblem], Sequence[SharedGpu]],
    plans: Sequence[Sequence[DecidedGpu]],
    known_bound: tuple[float, str] | None,
    deadline: float,
) -> FleetAnswer:
    """
    Returns the best plan of the programs, or the cheapest known one, and the greatest bound.

    Parameters
    ----------
    place, plans
        As for `solve_shared_fleet`.
    known_bound
        A proven lower bound on the cost per hour, and its method; None: none is known.
    deadline
        As time.monotonic() has it.
    """
    shared, tables, complete = sets.shared, sets.tables, sets.complete
    columns = [column for of_type in sets.listed for column in of_type.columns]
    generated_bound = None
    if not complete:
        known = columns_of_gpus(resolved, shared, place(resolved))
        until = time.monotonic() + GENERATING * _left(deadline)
        generated = generate_columns(resolved, shared, tables, known, deadline=until)
        columns, generated_bound = generated.columns, generated.cost_bound
    # The rest is for the bound: a plan without one says nothing.
    planned_by = time.monotonic() + PLANNING * _left(deadline)
    answer = _planned(resolved, shared, few_columns(columns), planned_by)
    cost = _cost(resolved, answer)
    if known_bound is not None and resolved.gap > 0 and is_within(resolved.gap, cost, known_bound[0]):
        bound = _Bound(*known_bound, infeasible=False)
    elif shared.splits or not complete:
        bound = _fluid_bound(resolved, generated_bound, deadline)
    else:
        bound = _bound_over_sets(resolved, shared, columns, answer, deadline)
    if known_bound is not None and not bound.infeasible and (bound.cost is None or known_bound[0] > bound.cost):
        bound = _Bound(*known_bound, infeasible=False, limited=bound.limited)
    if bound.infeasible:
        return FleetAnswer("infeasible", answer.solver, None, bound.method, None)
    limited = bound.limited or answer.stopped == "time_limit"
    if shared.splits and complete and not is_within(resolved.gap, cost, bound.cost):
        parts = shared_items(resolved, parts=True)
        found = [enumerate_columns(table, most=MOST_PARTS) for table in item_tables(resolved, parts)]
        more = few_columns([column for of_type in found for column in of_type.columns])
        split = _planned(resolved, parts, more, deadline) if len(more) <= MOST_SPLIT else None
        split_cost = None if split is None else _cost(resolved, split)
        limited |= split is not None and split.stopped == "time_limit"
        if split is not None and split_cost is not None and (cost is None or split_cost < cost * (1 - NO_GAP)):
            answer, cost, shared = split, split_cost, parts
    # Only where every feasible set was listed, and no rate may be split further, does their failure prove anything.
    exhaustive = complete and not shared.splits
    found_plan = _answer(resolved, shared, answer, cost, bound, exhaustive, limited)
    for plan in plans:
        price = price_of(resolved, plan)
        if cost is None or price < cost * (1 - NO_GAP):
            stopped = ended(price, bound.cost, gap=resolved.gap, limited=limited)
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
    return _Bound(answer.cost_bound, SETS, answer.stopped == "infeasible", answer.stopped == "time_limit")


def _fluid_bound(resolved: ResolvedProblem, generated: float | None, deadline: float) -> _Bound:
    """The bound of the fluid program, or that of generated columns where it is greater."""
    fluid = solve_cutting_stock(resolved, time_limit_s=_left(deadline), shared=as_fluid(resolved), fewest_slices=False)
    limited = fluid.stopped == "time_limit"
    other = None if generated is None else cost_steps(resolved).next_cost(generated)
    if other is not None and (fluid.cost_bound is None or other > fluid.cost_bound):
        return _Bound(other, GENERATED, fluid.stopped == "infeasible", limited)
    return _Bound(fluid.cost_bound, FLUID, fluid.stopped == "infeasible", limited)


def _answer(
    resolved: ResolvedProblem,
    shared: SharedItems,
    answer: CuttingStockAnswer,
    cost: float | None,
    bound: _Bound,
    exhaustive: bool,
    limited: bool,
) -> FleetAnswer:
    stopped = ended(cost, bound.cost, gap=resolved.gap, limited=limited)
    if cost is None or answer.patterns is None or answer.partitions is None:
        if answer.stopped == "infeasible":
            stopped = "infeasible" if exhaustive else "gap_left"
        return FleetAnswer(stopped, answer.solver, bound.cost, bound.method, None)
    gpus: list[DecidedGpu] = [
        *cut_gpus(resolved, answer.patterns, answer.partitions),
        *shared_gpus(resolved, shared.items, answer.shared),
    ]
    return FleetAnswer(stopped, answer.solver, bound.cost, bound.method, gpus)


def _cost(resolved: ResolvedProblem, answer: CuttingStockAnswer) -> float | None:
    """Returns the cost of a plan; None: there is none."""
    if answer.patterns is None:
        return None
    used: Sequence[tuple[str, int]] = [(pattern.gpu, times) for pattern, times in answer.patterns]
    used = [*used, *((column.gpu, times) for column, times in answer.shared.columns)]
    return sum(resolved.fleet_by_name[gpu].price_per_hour * times for gpu, times in used)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.05)
