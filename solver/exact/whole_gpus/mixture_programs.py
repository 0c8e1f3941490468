"""
Programs over whole GPUs x and mixtures lambda of vertices (mixed_demand.py has the formulation): a few rows each.

GPUs of given counts often just carry some mixture of cheapest covers and none of the vertices known. Of such x those
come first that leave the vertices known the least short, at the prices of partitions; with x given, what is short in
the mixture is a linear program over lambda, whose duals are a direction in which the next vertex is less short. That
ends with a mixture that x carry, or with none that is less short.
"""

from dataclasses import dataclass

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Floats, Ints
from ..backends.array_program import program_of
from ..backends.highs import TIE_BREAK_NODES, run_highs
from ..backends.linear_program import LinearSolution, least_cost
from ..backends.sparse_rows import of_dense
from ..dual.supply import Supply
from .vertices import Vertices

TIME_LIMIT_S = 0.5
"""For one program of a few rows."""

FEW_ENOUGH = 0.01
"""Part of the partitions by which a mixture may have more than it must."""

SHORT_NODES = 200
"""Branch-and-bound nodes for GPUs that leave vertices the least short."""

SHORT_ENOUGH = 1e-3
"""Of the price of a GPU of the cheapest type: how far from the least that may be."""

MOST_VERTICES = 60
"""That are looked for at given GPUs."""

NOT_SHORT = 1e-9
"""Part of a demand that is no more than the solver's rounding."""

NOT_ZERO = 1e-9
"""Part of a mixture from which on a vertex belongs to it."""


@dataclass(frozen=True, eq=False)
class Mixed:
    """Whole GPUs, shape (cut,), and the part of each vertex in what they carry, shape (vertex,)."""

    cuts: Ints
    part: Floats


@dataclass(frozen=True, eq=False)
class Fractional:
    """Parts of GPUs, shape (cut,), the part of each vertex in what they carry, (vertex,), and what these cost."""

    cuts: Floats
    part: Floats
    steps: float
    """inf: some size is in no GPU, or time ended."""
    scarcity: Floats | None
    """Shape (size,): the duals."""


def cheapest_parts(supply: Supply, vertices: Vertices) -> Fractional:
    """
    Returns the cheapest parts of GPUs, by the linear program of the vertices so far.

    GPUs beyond the counts may be had at twice the cost, since vertices that fit the counts have yet to be found: a
    program that is just infeasible has no duals to find them by.
    """
    rows, low, high = _rows(supply, vertices)
    cost = vertices.proven.prices.gpu_cost.astype(np.float64)
    sizes, cuts, types = supply.instances.shape[1], len(cost), len(supply.available)
    limited = np.flatnonzero(np.isfinite(supply.available))
    beyond = np.zeros((len(rows), len(limited)))
    beyond[len(rows) - len(limited) :] = -np.eye(len(limited))
    of_type = np.zeros(types)
    of_type[supply.gpu_type] = cost
    objective = np.concatenate([cost, np.zeros(len(vertices.demand)), of_type[limited]])
    answer = _solved(objective, np.hstack([rows, beyond]), low, high)
    number = len(vertices.demand)
    if answer is None:
        return Fractional(np.zeros(cuts), np.zeros(number), np.inf, None)
    return Fractional(answer.x[:cuts], answer.x[cuts : cuts + number], answer.cost, answer.dual[:sizes])


def cheapest_gpus(supply: Supply, vertices: Vertices, at_least: int) -> Mixed | None:
    """Returns the cheapest whole GPUs, of so many steps at least; None: none was found."""
    program = _Program(supply, vertices, at_least, np.inf)
    program.minimize(np.concatenate([program.cost, np.zeros(len(vertices.demand))]))
    # Costs are whole steps, so half a step from the least that there may be is the least.
    return program.solved(absolute_gap=0.5 / program.step)


def fewest_partitions(supply: Supply, vertices: Vertices, steps: int) -> Mixed | None:
    """Returns whole GPUs of just so many steps with the fewest partitions, nearly; None: none was found."""
    program = _Program(supply, vertices, steps, steps)
    number = np.array(vertices.demand, dtype=np.float64).sum(axis=1)
    program.minimize(np.concatenate([np.zeros(len(supply.cost)), number / number.max()]))
    return program.solved(absolute_gap=None, gap=FEW_ENOUGH, node_limit=TIE_BREAK_NODES)


def carried_by_counts(supply: Supply, vertices: Vertices, at_least: int, dearer: int) -> Mixed | None:
    """
    Returns whole GPUs of so many steps at least and vertices, found for them, that they carry; None: none was found.

    The GPUs are those that leave the vertices known the least short. `dearer`: see Vertices.add.
    """
    program = _Program(supply, vertices, at_least, np.inf, may_be_short=True)
    least = vertices.proven.prices.in_steps / program.step
    program.minimize(np.concatenate([np.zeros(len(supply.cost) + len(vertices.demand)), least]))
    found = program.solved(absolute_gap=SHORT_ENOUGH, node_limit=SHORT_NODES)
    return None if found is None else _carried(supply, vertices, found.cuts, dearer)


def _carried(supply: Supply, vertices: Vertices, cuts: Ints, dearer: int) -> Mixed | None:
    """Returns these GPUs and vertices that they carry; None: those that were found are short of some size."""
    price = vertices.proven.prices.in_steps
    held, sizes = supply.instances.T @ cuts, len(price)
    for _ in range(MOST_VERTICES):
        demand = np.array(vertices.demand, dtype=np.float64)
        short = np.vstack([np.eye(sizes), np.zeros((1, sizes))])
        mixture = np.vstack([-demand.T, np.ones((1, len(demand)))])
        least_short = _solved(
            np.concatenate([np.zeros(len(demand)), price]),
            np.hstack([mixture, short]),
            np.append(-held.astype(np.float64), 1.0),
            np.append(np.full(sizes, np.inf), 1.0),
        )
        if least_short is None:
            return None
        if least_short.cost <= NOT_SHORT * float(held @ price):
            return Mixed(cuts, least_short.x[: len(demand)])
        if not vertices.add(least_short.dual[:sizes], dearer):
            return None
    return None


def _solved(cost: Floats, rows: Floats, low: Floats, high: Floats) -> LinearSolution | None:
    """Returns a solution of a linear program; None: there is none, or no time was left for it."""
    most = np.full(len(cost), np.inf)
    try:
        return least_cost(cost, of_dense(rows), low, high, most=most, time_limit_s=TIME_LIMIT_S)
    except TimeoutError:
        return None


class _Program:
    """A program over whole GPUs and mixtures that cost from `least` to `most` steps; its variables, (x, lambda, s)."""

    def __init__(
        self, supply: Supply, vertices: Vertices, least: int, most: float, *, may_be_short: bool = False
    ) -> None:
        rows, low, high = _rows(supply, vertices)
        cuts, sizes = supply.instances.shape
        number = len(vertices.demand)
        gpu_cost = vertices.proven.prices.gpu_cost
        self.step = float(gpu_cost.min())
        self.cost = gpu_cost / self.step
        cost = np.concatenate([self.cost, np.zeros(number)])
        rows = np.vstack([rows, cost])
        if may_be_short:
            rows = np.hstack([rows, np.vstack([np.eye(sizes), np.zeros((len(rows) - sizes, sizes))])])
        # HiGHS rounds its numbers of GPUs, and mixtures are off by as much: in rows of single partitions that breaks
        # its tolerance, so it solves them anew, and prints that it does.
        rows[:sizes] /= max(int(np.max(vertices.demand)), 1)
        self._cuts, self._vertices = cuts, number
        program = program_of(
            of_dense(rows),
            np.append(low, (least - 0.01) / self.step),
            np.append(high, (most + 0.01) / self.step),
            np.concatenate([np.full(cuts, np.inf), np.ones(number), np.full(sizes if may_be_short else 0, np.inf)]),
            name="mixture",
        )
        self._model = mathopt.Model.from_model_proto(program)
        self._variables = list(self._model.variables())
        for one in self._variables[cuts:]:
            one.integer = False

    def minimize(self, objective: Floats) -> None:
        """Says what is to be least, shape (variable,)."""
        terms = ((c, x) for c, x in zip(objective.tolist(), self._variables, strict=True) if c)
        self._model.minimize(mathopt.LinearSum(c * x for c, x in terms))

    def solved(self, *, absolute_gap: float | None, gap: float = 0.0, node_limit: int | None = None) -> Mixed | None:
        """Returns the solution found; None: there is none."""
        result = run_highs(
            self._model,
            TIME_LIMIT_S,
            absolute_gap=absolute_gap,
            gap=gap,
            node_limit=node_limit,
            presolve=False,
            jump=False,
        )
        if not result.has_primal_feasible_solution():
            return None
        values = np.array([result.variable_values(one) for one in self._variables[: self._cuts + self._vertices]])
        return Mixed(np.rint(values[: self._cuts]).astype(np.int64), values[self._cuts :])


def _rows(supply: Supply, vertices: Vertices) -> tuple[Floats, Floats, Floats]:
    """Returns rows of (x, lambda) with their least and greatest values: sizes, the sum of lambda, counts of types."""
    demand = np.array(vertices.demand, dtype=np.float64)
    limited = np.flatnonzero(np.isfinite(supply.available))
    cuts, number = len(supply.cost), len(demand)
    rows = np.vstack(
        [
            np.hstack([supply.instances.T.astype(np.float64), -demand.T]),
            np.hstack([np.zeros((1, cuts)), np.ones((1, number))]),
            np.hstack([(supply.gpu_type == limited[:, None]).astype(np.float64), np.zeros((len(limited), number))]),
        ]
    )
    sizes = supply.instances.shape[1]
    low = np.concatenate([np.zeros(sizes), [1.0], np.full(len(limited), -np.inf)])
    high = np.concatenate([np.full(sizes, np.inf), [1.0], supply.available[limited]])
    return rows, low, high
