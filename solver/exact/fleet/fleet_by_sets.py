"""
Fleets with GPUs under MPS, beside MIG and whole GPUs, as one program over sets of residents.

1. The sets of residents that fit a GPU are enumerated (mps/columns.py), and one integer program over them and over
   the cuts of MIG chooses the GPUs (mps/program.py, cutting_stock.py). Its columns are the feasible sets.
2. The lower bound. Where no rate may be split otherwise than the recipes say (the rules `igniter`, or max_replicas 1),
   every plan is a solution of that program with the possible sets for columns, so its dual bound holds. Where rates
   may be split in any way, every plan is a solution of the fluid program (mps/program.py), so that one's holds.
3. If a gap is left and rates may be split, recipes that split a workload join.
4. Where there are too many sets to list, columns are generated (column_generation.py).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ..cost_lattice import NO_GAP, cost_lattice
from ..mig.cutting_stock import CuttingStockAnswer, solve_cutting_stock
from ..mig.decoding import cut_gpus
from ..mps.column_generation import generate_columns
from ..mps.columns import Column, Columns, ItemTable, columns_of_gpus, enumerate_columns, few_columns, item_tables
from ..mps.decoding import shared_gpus
from ..mps.items import MpsItems, mps_items
from ..mps.program import as_fluid, by_columns
from ..proof import ended, is_within
from .fleet_answer import FleetAnswer, price_of

SETS = (
    "dual bound of the program over all sets of residents that could fit a GPU (solver/exact/mps/columns.py) "
    "and all cuts of MIG: every plan is one of its solutions"
)
SETS_BY_THE_RULES = (
    "dual bound of the program over all sets of residents that could fit a GPU by mps_rules igniter, which fix batch "
    "sizes and the parts of a service, and all cuts of MIG: every plan that these rules allow is one of its solutions"
)
FLUID = (
    "dual bound of the fluid relaxation (solver/exact/mps/program.py): rates split in any way, each resident as "
    "fast as alone on its GPU; neighbours never make it faster, so every plan is one of its solutions"
)
GENERATED = (
    "Lagrangian bound of generated columns (solver/exact/mps/column_generation.py): their duals divided by the most "
    "that any set of residents could collect on a GPU, per unit of cost"
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

    shared: MpsItems
    tables: Sequence[ItemTable]
    listed: Sequence[Columns]

    @property
    def complete(self) -> bool:
        """Whether these are all possible sets."""
        return all(of_type.complete for of_type in self.listed)


def list_sets(resolved: ResolvedProblem) -> ListedSets:
    """Lists the possible sets, as far as they are not too many."""
    shared = mps_items(resolved, parts=False)
    tables = item_tables(resolved, shared)
    return ListedSets(shared, tables, [enumerate_columns(table) for table in tables])


def solve_by_sets(
    resolved: ResolvedProblem,
    sets: ListedSets,
    place: Callable[[ResolvedProblem], Sequence[MpsGpu]],
    plans: Sequence[Sequence[AllocatedGpu]],
    known_bound: tuple[float, str] | None,
    deadline: float,
) -> FleetAnswer:
    """
    Returns the best plan of the programs, or the cheapest known one, and the greatest bound.

    Parameters
    ----------
    place, plans
        As for `solve_mixed_fleet`.
    known_bound
        A proven lower bound on the cost per hour, and its method; None: none is known.
    deadline
        As time.monotonic() has it.
    """
    shared, complete = sets.shared, sets.complete
    columns, generated_bound = _columns_of(resolved, sets, place, deadline)
    # The rest is for the bound: a plan without one says nothing.
    planned_by = time.monotonic() + PLANNING * _left(deadline)
    answer = _planned(resolved, shared, few_columns(columns), planned_by)
    cost = _cost(resolved, answer)
    if known_bound is not None and resolved.gap > 0 and is_within(resolved.gap, cost, known_bound[0]):
        bound = _Bound(*known_bound, infeasible=False)
    elif shared.splits or not complete:
        bound = _greater(_fluid_bound(resolved, generated_bound, deadline), known_bound)
    else:
        bound = _greater(_bound_over_sets(resolved, shared, columns, answer, deadline), known_bound)
    if bound.infeasible:
        return FleetAnswer(StopReason.INFEASIBLE, answer.solver, None, bound.method, None)
    limited = bound.limited or answer.stopped == StopReason.TIME_LIMIT
    if shared.splits and complete and not is_within(resolved.gap, cost, bound.cost):
        parts = mps_items(resolved, parts=True)
        split = _planned_in_parts(resolved, parts, deadline)
        split_cost = None if split is None else _cost(resolved, split)
        limited |= split is not None and split.stopped == StopReason.TIME_LIMIT
        if split is not None and _is_cheaper(split_cost, cost):
            answer, cost, shared = split, split_cost, parts
    # Only where every feasible set was listed, and no rate may be split further, does their failure prove anything.
    exhaustive = complete and not shared.splits
    found_plan = _answer(resolved, shared, answer, cost, bound, exhaustive, limited)
    for plan in plans:
        price = price_of(resolved, plan)
        if _is_cheaper(price, cost):
            stopped = ended(price, bound.cost, gap=resolved.gap, limited=limited)
            found_plan, cost = replace(found_plan, stopped=stopped, gpus=list(plan)), price
    return found_plan


def _columns_of(
    resolved: ResolvedProblem, sets: ListedSets, place: Callable[[ResolvedProblem], Sequence[MpsGpu]], deadline: float
) -> tuple[Sequence[Column], float | None]:
    """Returns the sets that are listed, or else generated ones, with a bound on the cost that their prices give."""
    if sets.complete:
        return [column for of_type in sets.listed for column in of_type.columns], None
    known = columns_of_gpus(resolved, sets.shared, place(resolved))
    until = time.monotonic() + GENERATING * _left(deadline)
    generated = generate_columns(resolved, sets.shared, sets.tables, known, deadline=until)
    return generated.columns, generated.cost_bound


def _greater(bound: _Bound, known: tuple[float, str] | None) -> _Bound:
    """Returns the greater of two bounds, of which the first may prove that there is no plan."""
    if known is None or bound.infeasible or (bound.cost is not None and known[0] <= bound.cost):
        return bound
    return _Bound(*known, infeasible=False, limited=bound.limited)


def _is_cheaper(cost: float | None, than: float | None) -> bool:
    return cost is not None and (than is None or cost < than * (1 - NO_GAP))


def _planned_in_parts(resolved: ResolvedProblem, parts: MpsItems, deadline: float) -> CuttingStockAnswer | None:
    """Returns the best plan of rates that are split into parts; None: these have too many sets."""
    found = [enumerate_columns(table, most=MOST_PARTS) for table in item_tables(resolved, parts)]
    columns = few_columns([column for of_type in found for column in of_type.columns])
    return _planned(resolved, parts, columns, deadline) if len(columns) <= MOST_SPLIT else None


def _planned(
    resolved: ResolvedProblem, shared: MpsItems, columns: Sequence[Column], deadline: float
) -> CuttingStockAnswer:
    return solve_cutting_stock(resolved, time_limit_s=_left(deadline), shared=by_columns(resolved, shared, columns))


def _bound_over_sets(
    resolved: ResolvedProblem,
    shared: MpsItems,
    columns: Sequence[Column],
    answer: CuttingStockAnswer,
    deadline: float,
) -> _Bound:
    """The bound of the program over all possible sets; the plan's own program if each of them is feasible."""
    if any(column.batches is None for column in columns):
        answer = solve_cutting_stock(
            resolved, time_limit_s=_left(deadline), shared=by_columns(resolved, shared, columns), fewest_slices=False
        )
    method = SETS if resolved.problem.settings.mps_rules == "free" else SETS_BY_THE_RULES
    return _Bound(
        answer.cost_bound, method, answer.stopped == StopReason.INFEASIBLE, answer.stopped == StopReason.TIME_LIMIT
    )


def _fluid_bound(resolved: ResolvedProblem, generated: float | None, deadline: float) -> _Bound:
    """The bound of the fluid program, or that of generated columns where it is greater."""
    fluid = solve_cutting_stock(resolved, time_limit_s=_left(deadline), shared=as_fluid(resolved), fewest_slices=False)
    limited = fluid.stopped == StopReason.TIME_LIMIT
    other = None if generated is None else cost_lattice(resolved).next_cost(generated)
    if other is not None and (fluid.cost_bound is None or other > fluid.cost_bound):
        return _Bound(other, GENERATED, fluid.stopped == StopReason.INFEASIBLE, limited)
    return _Bound(fluid.cost_bound, FLUID, fluid.stopped == StopReason.INFEASIBLE, limited)


def _answer(
    resolved: ResolvedProblem,
    shared: MpsItems,
    answer: CuttingStockAnswer,
    cost: float | None,
    bound: _Bound,
    exhaustive: bool,
    limited: bool,
) -> FleetAnswer:
    stopped = ended(cost, bound.cost, gap=resolved.gap, limited=limited)
    if cost is None or answer.patterns is None or answer.partitions is None:
        if answer.stopped == StopReason.INFEASIBLE:
            stopped = StopReason.INFEASIBLE if exhaustive else StopReason.GAP_LEFT
        return FleetAnswer(stopped, answer.solver, bound.cost, bound.method, None)
    gpus: list[AllocatedGpu] = [
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
