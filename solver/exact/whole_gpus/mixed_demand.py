"""
A fractional plan of whole GPUs, without a program over workloads.

At exact prices (whole_prices.py) an optimal fractional plan takes tied covers only, so its demand for partitions is a
mixture of demands in which every workload takes one tied cover: the vertices of a sum of polytopes, one a workload. A
few dozen vertices, each found by letting every group take the tied cover that is least in a direction, nearly always
contain what whole GPUs need:

    min  c x     s.t.  A x >= sum_i lambda_i D_i,   sum_i lambda_i = 1,   sum_{q of g} x_q <= N_g,   c x >= T
    x whole, lambda >= 0

D_i: the vertex of direction i; T: the steps asked for. As many rows as sizes, at any number of workloads.
Where that costs more than T, the duals of its linear program are directions too, and covers that are dearer by no more
than the plan may waste are let in.

Of all x and mixtures of that cost, those with the fewest partitions are wanted: each is an instance to create, and a
place where a batch waits to fill up. That is the same program with the cost given, solved nearly.

That whole x reach T is no theorem; the answer claims nothing but that its x carry its mixture, to about a millionth of
what a vertex asks of a size, which is the solver's tolerance: whoever takes it counts whole partitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Floats, Ints
from ..backends.array_program import program_of
from ..backends.highs import TIE_BREAK_NODES, run_highs
from ..backends.linear_program import least_cost
from ..backends.sparse_rows import of_dense
from ..covers.covers import runs
from ..dual.supply import Supply
from .whole_prices import ProvenCovers

RANDOM_DIRECTIONS = 4
"""For each size, beside a rising and a falling one."""

ROUNDS = 4
"""Of directions from the duals of the linear program."""

MOST_SCARCE = 100
"""Directions from duals, one after the other, in one of these rounds."""

AS_GOOD = 1e-9
"""Part of the cost asked for by which a fractional plan may be dearer and needs no further direction."""

TIME_LIMIT_S = 0.5
"""For one program of a few rows."""

FEW_ENOUGH = 0.01
"""Part of the partitions by which a mixture may have more than it must."""

NEAR_ENOUGH = 0.2
"""GPUs of the cheapest type above the least cost with which no further directions are looked for."""

HASTY_NODES = 300
"""Branch-and-bound nodes for whole GPUs that do for now; a count and not a time, so that runs are alike."""

NOT_ZERO = 1e-9
"""Part of a mixture from which on a vertex belongs to it."""


@dataclass(frozen=True, eq=False)
class MixedDemand:
    """Whole GPUs, and which covers they carry in which parts."""

    cuts: Ints
    """Shape (cut,): x."""
    steps: int
    """What they cost."""
    part: Floats
    """Shape (vertex,): lambda, the sum is 1."""
    taken: Ints
    """Shape (vertex, group): position of the cover that each group takes in a vertex."""

    def partitions(self, proven: ProvenCovers) -> float:
        """Returns how many partitions the mixture takes."""
        number = proven.covers.counts.sum(axis=1)[self.taken]
        return float(self.part @ (number @ proven.covers.members))


def mixed_demands(
    supply: Supply, proven: ProvenCovers, at_least: int, *, hasty: bool = False, found_before: bool = False
) -> tuple[MixedDemand, ...]:
    """
    Returns the cheapest whole GPUs, of `at_least` steps, with mixtures of covers that they carry.

    The one with the fewest partitions comes first, and what it may be exchanged for next; none: the counts allow none.

    Parameters
    ----------
    hasty
        Whether a better way comes next where these are not within NEAR_ENOUGH: others will do then.
    found_before
        Whether GPUs of `at_least` steps were found in haste, so that only fewer partitions are wanted.
    """
    rounds = 1 if hasty else ROUNDS
    directions = _Directions(proven)
    sizes = proven.covers.counts.shape[1]
    for direction in _first_directions(sizes):
        directions.add(direction, 0)
    best = None
    near_enough = at_least + int(NEAR_ENOUGH * int(proven.prices.gpu_cost.min()))
    for turn in range(rounds):
        dearer = 0 if turn < rounds - 1 or hasty else proven.to_waste(best.steps if best else at_least)
        for _ in range(MOST_SCARCE):
            least, scarcity = _scarcity(supply, directions)
            if least <= at_least * (1 + AS_GOOD) or not directions.add(scarcity, dearer):
                break
        if found_before:
            fewest = _whole(supply, directions, at_least, fewest_partitions=True)
            return () if fewest is None or fewest.steps > at_least else (fewest,)
        found = _whole(supply, directions, at_least, hasty=hasty)
        if found is not None and (best is None or found.steps < best.steps):
            best = found
        if best is not None and best.steps <= near_enough:
            break
        for direction in _first_directions(sizes, seed=turn + 1):
            directions.add(direction, dearer)
    if best is None:
        return ()
    if hasty and best.steps > near_enough:
        return (best,)
    fewest = _whole(supply, directions, best.steps, fewest_partitions=True)
    if fewest is None or fewest.steps > best.steps or fewest.partitions(proven) >= best.partitions(proven):
        return (best,)
    return fewest, best


class _Directions:
    """Vertices found so far."""

    def __init__(self, proven: ProvenCovers) -> None:
        self.proven = proven
        self._near = _Near(proven, 0)
        self.taken: list[Ints] = []
        self.demand: list[Ints] = []
        self._known: set[bytes] = set()

    def add(self, direction: Floats | None, dearer: int) -> bool:
        """
        Adds the vertex that is least in a direction; returns whether it is new.

        Parameters
        ----------
        direction
            Shape (size,); None: there is none to add.
        dearer
            How much more than the cheapest a group's cover may cost for this; 0: tied covers only.
        """
        if direction is None:
            return False
        if self._near.dearer != dearer:
            self._near = _Near(self.proven, dearer)
        taken, demand = self._near.least(direction)
        if demand.tobytes() in self._known:
            return False
        self._known.add(demand.tobytes())
        self.taken.append(taken)
        self.demand.append(demand)
        return True


class _Near:
    """The covers of each group that are dearer than its cheapest by no more than this, at least that one."""

    def __init__(self, proven: ProvenCovers, dearer: int) -> None:
        self.dearer = dearer
        self._at = np.flatnonzero(proven.reduced <= dearer)
        self._counts = proven.covers.counts[self._at].astype(np.float64)
        self._owner = proven.covers.owner[self._at]
        self._first = runs(self._owner)[0]
        self._members = proven.covers.members.astype(np.float64)

    def least(self, direction: Floats) -> tuple[Ints, Ints]:
        """Returns the cover that each group takes in a direction, shape (group,), and the demand, shape (size,)."""
        cost = self._counts @ direction
        least = np.minimum.reduceat(cost, self._first)
        at = np.flatnonzero(cost <= least[self._owner])
        taken = at[runs(self._owner[at])[0]]
        # Sums of whole numbers below 2^53 are exact.
        demand = np.rint(self._members @ self._counts[taken]).astype(np.int64)
        return self._at[taken], demand


def _first_directions(sizes: int, seed: int = 0) -> Iterator[Floats]:
    """Yields that of the fewest partitions, a rising and a falling one of each size, and random ones."""
    if seed == 0:
        yield np.ones(sizes)  # the fewest partitions
        yield from np.vstack([np.eye(sizes), -np.eye(sizes)])
    draw = np.random.default_rng(seed)
    yield from draw.standard_normal((RANDOM_DIRECTIONS * sizes, sizes))


def _rows(supply: Supply, directions: _Directions) -> tuple[Floats, Floats, Floats]:
    """Returns rows of (x, lambda) with their least and greatest values: sizes, the sum of lambda, counts of types."""
    demand = np.array(directions.demand, dtype=np.float64)
    limited = np.flatnonzero(np.isfinite(supply.available))
    cuts, vertices = len(supply.cost), len(demand)
    rows = np.vstack(
        [
            np.hstack([supply.instances.T.astype(np.float64), -demand.T]),
            np.hstack([np.zeros((1, cuts)), np.ones((1, vertices))]),
            np.hstack([(supply.gpu_type == limited[:, None]).astype(np.float64), np.zeros((len(limited), vertices))]),
        ]
    )
    sizes = supply.instances.shape[1]
    low = np.concatenate([np.zeros(sizes), [1.0], np.full(len(limited), -np.inf)])
    high = np.concatenate([np.full(sizes, np.inf), [1.0], supply.available[limited]])
    return rows, low, high


def _scarcity(supply: Supply, directions: _Directions) -> tuple[float, Floats | None]:
    """Returns what the linear program costs and its duals of the sizes, shape (size,); inf, None: no solution."""
    rows, low, high = _rows(supply, directions)
    sizes = supply.instances.shape[1]
    objective = np.concatenate([directions.proven.prices.gpu_cost, np.zeros(len(directions.demand))]).astype(np.float64)
    most = np.full(len(objective), np.inf)
    try:
        answer = least_cost(objective, of_dense(rows), low, high, most=most, time_limit_s=TIME_LIMIT_S)
    except TimeoutError:
        return np.inf, None
    return (np.inf, None) if answer is None else (answer.cost, answer.dual[:sizes])


def _whole(
    supply: Supply, directions: _Directions, at_least: int, *, fewest_partitions: bool = False, hasty: bool = False
) -> MixedDemand | None:
    """
    Returns the cheapest whole GPUs, or those with the fewest partitions that cost just so much.

    `hasty`: whether those will do that are found first.
    """
    rows, low, high = _rows(supply, directions)
    cuts, vertices = len(supply.cost), len(directions.demand)
    gpu_cost = directions.proven.prices.gpu_cost
    cost = np.concatenate([gpu_cost, np.zeros(vertices)]).astype(np.float64)
    scale = float(gpu_cost.min())
    model = program_of(
        of_dense(np.vstack([rows, cost / scale])),
        np.append(low, (at_least - 0.01) / scale),
        np.append(high, (at_least + 0.01) / scale if fewest_partitions else np.inf),
        np.concatenate([np.full(cuts, np.inf), np.ones(vertices)]),
        name="mixture",
    )
    variables = list(model.variables())
    for one in variables[cuts:]:
        one.integer = False
    if fewest_partitions:
        number = np.array(directions.demand, dtype=np.float64).sum(axis=1)
        weights, weighed = (number / number.max()).tolist(), variables[cuts:]
    else:
        weights, weighed = (cost[:cuts] / scale).tolist(), variables[:cuts]
    model.minimize(mathopt.LinearSum(c * x for c, x in zip(weights, weighed, strict=True)))
    run = partial(run_highs, model, TIME_LIMIT_S)
    if fewest_partitions:
        result = run(absolute_gap=None, gap=FEW_ENOUGH, node_limit=TIE_BREAK_NODES, presolve=False)
    elif hasty:
        result = run(absolute_gap=NEAR_ENOUGH, node_limit=HASTY_NODES)
    else:
        # Costs are whole steps, so half a step from the least that there may be is the least.
        result = run(absolute_gap=0.5 / scale, presolve=False)
    if not result.has_primal_feasible_solution():
        return None
    values = np.array([result.variable_values(one) for one in variables])
    whole = np.rint(values[:cuts]).astype(np.int64)
    part = np.where(values[cuts:] > NOT_ZERO, values[cuts:], 0.0)
    mixed = np.flatnonzero(part)
    return MixedDemand(whole, int(whole @ gpu_cost), part[mixed] / part.sum(), np.array(directions.taken)[mixed])
