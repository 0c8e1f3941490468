"""
Column generation: good sets of residents where there are too many to list, and a bound from their prices.

Master, as a linear program over the columns found so far, with n_i residents of item i wanted:

    min sum_p c_p z_p   s.t.  sum_p a_ip z_p >= n_i  (dual pi_i >= 0)

The first columns are those of a plan that is given. Pricing looks for sets worth more than their GPU costs, sum of
pi over the set > c: sets are grown one resident at a time, and of each size only the most promising are kept (a
beam), so it may miss some. The columns are therefore a heuristic choice; a plan made of them is feasible, not proven.

Bound (Farley, Operations Research 38, 1990). If no set on a GPU of type g can collect more than V_g, then pi scaled by
min(1, min_g c_g / V_g) is feasible for the dual of the master with all columns, so

    sum_i pi_i n_i * min(1, min_g c_g / V_g)

is no more than the cost of any plan. V_g is found by branch and bound over possible sets (columns.py): a set
is worth at most what it holds and the best that its room could still collect, a knapsack in which each further item
takes the least units that it can have beside a neighbour. Sets left open count with that bound, so V_g holds
whenever the search is stopped.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ...runtime.deadline import at_most_left
from .columns import CHUNK, Column, ItemTable, judged
from .items import MpsItems

BEAM = 150
"""Sets of each size that are grown further."""

NEW_COLUMNS = 300
"""Columns that a round adds at most."""

MOST_BATCHES = 3
"""Batch sizes of an item that the columns choose from: those with the smallest shares alone."""

MOST_OPEN = 4_000
"""Sets of each size that the branch and bound for V_g looks into."""

BETTER = 1 + 1e-9
"""How many times as much as the best set another one has to hope for: less is rounding."""

ENDED_EARLY = mathopt.TerminationReason.FEASIBLE, mathopt.TerminationReason.NO_SOLUTION_FOUND
"""With what a linear program ends that its time limit ended."""

MOST_ROUNDS = 60


@dataclass(frozen=True)
class GeneratedColumns:
    """Columns that were found, and a lower limit on the cost of any plan."""

    columns: list[Column]
    cost_bound: float | None
    """USD per hour; None: no bound, because workloads can be served otherwise too."""


def generate_columns(
    resolved: ResolvedProblem,
    shared: MpsItems,
    tables: Sequence[ItemTable],
    start: Sequence[Column],
    *,
    deadline: float,
) -> GeneratedColumns:
    """
    Generates columns until no more are found, or for most of the time to the deadline (`time.monotonic`).

    Every item gets at least a column of its own, so that what can be served at all can be served by the columns.

    Parameters
    ----------
    start
        Columns of a plan to begin with.
    """
    wanted = _wanted(shared)
    price = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    pool: dict[tuple[str, tuple[int, ...]], Column] = {}
    few = [table.with_fewer_batches(MOST_BATCHES) for table in tables]
    for table in few:
        alone = np.flatnonzero(table.least <= table.mps.capacity_units)[:, None]
        _add(pool, _judged_sets(table, alone))
    _add(pool, start)
    started = time.monotonic()
    for _ in range(MOST_ROUNDS):
        found = _master(list(pool.values()), wanted, price)
        if found is None:
            return GeneratedColumns(list(pool.values()), None)
        duals = found
        if time.monotonic() > started + 0.75 * (deadline - started):
            break
        before = len(pool)
        for table in few:
            _add(pool, _priced(table, duals[table.numbers], price[table.mps.gpu], deadline))
        if len(pool) == before:
            break
    only_these = all(len(one.recipes) == 1 for one in shared.classes) and not resolved.capacity_rps.any()
    if not only_these or shared.splits:
        return GeneratedColumns(list(pool.values()), None)
    worth = {table.mps.gpu: most_collected(table, duals[table.numbers], deadline) for table in tables}
    scale = min([1.0, *(price[gpu] / most for gpu, most in worth.items() if most > 0)])
    return GeneratedColumns(list(pool.values()), float(duals @ wanted) * scale)


def _wanted(shared: MpsItems) -> Floats:
    """Returns residents of each item if every workload is served by its first recipe; shape (item,)."""
    wanted = np.zeros(len(shared.items))
    for one in shared.classes:
        for item in one.recipes[0] if one.recipes else ():
            wanted[item] += len(one.members)
    return wanted


def _add(pool: dict[tuple[str, tuple[int, ...]], Column], columns: Sequence[Column]) -> None:
    for column in columns:
        if column.batches is not None:
            pool.setdefault((column.gpu, column.items), column)


def _judged_sets(table: ItemTable, sets: Ints) -> list[Column]:
    found: list[Column] = []
    least, batches = table.possible(sets)
    fits = least.sum(axis=1) <= table.mps.capacity_units
    list(judged(table, sets[fits], least[fits], batches[fits], found))
    return found


def _master(columns: Sequence[Column], wanted: Floats, price: dict[str, float]) -> Floats | None:
    """Returns the duals of the items, shape (item,), of the linear program over these columns; None: not in time."""
    model = mathopt.Model(name="master")
    uses = [model.add_variable(lb=0) for _ in columns]
    terms: dict[int, list[mathopt.LinearTerm]] = {}
    for column, use in zip(columns, uses, strict=True):
        for item in dict.fromkeys(column.items):
            terms.setdefault(item, []).append(float(column.items.count(item)) * use)
    rows = {
        item: model.add_linear_constraint(mathopt.LinearSum(of_item) >= float(wanted[item]))
        for item, of_item in terms.items()
    }
    model.minimize(mathopt.LinearSum(price[column.gpu] * use for column, use in zip(columns, uses, strict=True)))
    parameters = mathopt.SolveParameters(time_limit=timedelta(seconds=at_most_left(60)))
    result = mathopt.solve(model, mathopt.SolverType.GLOP, params=parameters)
    if not result.has_dual_feasible_solution():
        if result.termination.reason in ENDED_EARLY:
            return None
        raise RuntimeError(f"the master program ended with {result.termination.reason.name}")
    duals = np.zeros(len(wanted))
    for item, row in rows.items():
        duals[item] = max(result.dual_values(row), 0.0)
    return duals


@dataclass(frozen=True, eq=False)
class _Collectable:
    """The items that a GPU may collect, most valuable per unit first; a set is a rising row of positions in them."""

    table: ItemTable
    order: Ints
    """Row in the table, shape (position,)."""
    worth: Floats
    """Shape (position,)."""
    least: Ints
    """Units that each takes at least beside a neighbour, shape (position,)."""
    rest: Floats
    """The most that the items from each position on can collect in each room; shape (position, room)."""

    def hope(self, sets: Ints, room: Ints) -> Floats:
        """Returns the most that sets can be worth when they are grown into their room; shape (set,)."""
        return self.value(sets) + self.rest[sets[:, -1], room]

    def value(self, sets: Ints) -> Floats:
        """Returns what sets collect."""
        value: Floats = self.worth[sets].sum(axis=1)
        return value

    def grown(self, sets: Ints) -> Ints:
        """Returns the sets with one resident more, as far as there are copies of it and memory for it."""
        row, item = np.nonzero(np.arange(len(self.order))[None, :] >= sets[:, -1:])
        grown = np.concatenate([sets[row], item[:, None]], axis=1)
        grown = grown[(grown == grown[:, -1:]).sum(axis=1) <= self.table.copies[self.order[grown[:, -1]]]]
        kept: Ints = grown[self.table.memory[self.order[grown]].sum(axis=1) <= self.table.mps.memory_mib]
        return kept

    def possible(self, sets: Ints) -> tuple[Ints, Ints]:
        """Returns the sets that are possible (columns.py), and the units that each takes at least."""
        units = np.concatenate([self.table.possible(self.order[part])[0].sum(axis=1) for part in _chunks(sets)])
        fits = units <= self.table.mps.capacity_units
        return sets[fits], units[fits]


def most_collected(table: ItemTable, worth: Floats, deadline: float) -> float:
    """
    Returns an upper limit of the value of a set on a GPU (V_g), by branch and bound over possible sets, size by size.

    Parameters
    ----------
    worth
        Dual of each item, shape (row,).
    deadline
        As time.monotonic() has it. Sets that are open then count with what they could collect at most.
    """
    items, capacity = _collectable(table, worth), table.mps.capacity_units
    if not items.order.size:
        return 0.0
    best, closed = float(items.worth.max()), 0.0
    sets = np.arange(len(items.order))[:, None]
    hope = items.hope(sets, capacity - np.minimum(items.least, capacity))
    while True:
        sets, hope = _most_hopeful(sets, hope, best)
        if not len(sets):
            return max(best, closed)
        if time.monotonic() > deadline:
            return max(best, closed, float(hope[0]))
        closed = max(closed, float(hope[MOST_OPEN:].max(initial=0.0)))
        sets = items.grown(sets[:MOST_OPEN])
        room = capacity - items.least[sets].sum(axis=1)
        sets = sets[(room >= 0) & (items.hope(sets, np.maximum(room, 0)) > best * BETTER)]
        if not len(sets) or sets.shape[1] > table.mps.clients:
            return max(best, closed)
        sets, units = items.possible(sets)
        best = max(best, float(items.value(sets).max(initial=0.0)))
        hope = items.hope(sets, capacity - units)


def _collectable(table: ItemTable, worth: Floats) -> _Collectable:
    usable = np.flatnonzero((worth > 1e-12) & (table.least <= table.mps.capacity_units))
    order = usable[np.argsort(-worth[usable] / table.least_beside[usable], kind="stable")]
    rest = _knapsack(table, worth, order) if order.size else np.zeros((0, 0))
    return _Collectable(table, order, worth[order], table.least_beside[order], rest)


def _most_hopeful(sets: Ints, hope: Floats, best: float) -> tuple[Ints, Floats]:
    """Returns the sets that could still beat the best one, those that could collect most first."""
    keep = np.flatnonzero(hope > best * BETTER)
    keep = keep[np.argsort(-hope[keep], kind="stable")]
    return sets[keep], hope[keep]


def _knapsack(table: ItemTable, worth: Floats, order: Ints) -> Floats:
    """Returns the most that the items from each position on can collect in each room; shape (position, room)."""
    capacity = table.mps.capacity_units
    rest = np.zeros((len(order) + 1, capacity + 1))
    for at in range(len(order) - 1, -1, -1):
        size, copies = int(table.least_beside[order[at]]), int(table.copies[order[at]])
        best = rest[at + 1].copy()
        for _ in range(min(copies, capacity // size)):
            grown = best.copy()
            grown[size:] = np.maximum(best[size:], best[:-size] + worth[order[at]])
            best = grown
        rest[at] = best
    return rest[:-1]


def _chunks(sets: Ints) -> list[Ints]:
    return [sets[at : at + CHUNK] for at in range(0, len(sets), CHUNK)]


def _priced(table: ItemTable, worth: Floats, price: float, deadline: float) -> list[Column]:
    """Returns sets worth more than a GPU, the most valuable of those that the beam meets."""
    candidates = np.flatnonzero((worth > 1e-9) & (table.least <= table.mps.capacity_units) & ~table.dedicated)
    if not candidates.size:
        return []
    density = np.max(worth[candidates] / table.least[candidates])
    sets, least = candidates[:, None], table.least[candidates][:, None]
    sets, least = _promising(table, worth, density, sets, least)
    found: list[Column] = []
    while len(sets) and time.monotonic() < deadline:
        room = table.mps.capacity_units - least.sum(axis=1)
        memory = table.mps.memory_mib - table.memory[sets].sum(axis=1)
        allowed = (
            (table.least[candidates][None, :] <= room[:, None])
            & (table.memory[candidates][None, :] <= memory[:, None])
            & ((sets[:, :, None] == candidates[None, None, :]).sum(axis=1) < table.copies[candidates][None, :])
        )
        row, column = np.nonzero(allowed)
        if not row.size or sets.shape[1] == table.mps.clients:
            break
        grown = np.sort(np.concatenate([sets[row], candidates[column][:, None]], axis=1), axis=1)
        grown = np.unique(grown, axis=0)
        grown, start = _promising(table, worth, density, grown, table.least[grown], keep=10 * BEAM)
        smallest, batches = table.possible(grown)
        smallest = np.maximum(smallest, start)
        fits = smallest.sum(axis=1) <= table.mps.capacity_units
        grown, smallest, batches = grown[fits], smallest[fits], batches[fits]
        valuable = worth[grown].sum(axis=1) > price * (1 + 1e-6)
        list(judged(table, grown[valuable], smallest[valuable], batches[valuable], found))
        sets, least = _promising(table, worth, density, grown, smallest)
    rows = {int(number): i for i, number in enumerate(table.numbers)}
    found.sort(key=lambda column: -sum(worth[rows[item]] for item in column.items))
    return found[:NEW_COLUMNS]


def _promising(
    table: ItemTable, worth: Floats, density: float, sets: Ints, least: Ints, keep: int = BEAM
) -> tuple[Ints, Ints]:
    """Returns the sets that could collect most: what they hold, and their room at the best density."""
    room = table.mps.capacity_units - least.sum(axis=1)
    best = np.argsort(-(worth[sets].sum(axis=1) + density * room), kind="stable")[:keep]
    return sets[best], least[best]
