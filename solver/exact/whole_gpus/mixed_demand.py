"""
A fractional plan of whole GPUs, without a program over workloads.

At exact prices (whole_prices.py) an optimal fractional plan takes tied covers only, so its demand for partitions is a
mixture of demands in which every workload takes one tied cover: the vertices of a sum of polytopes, one a workload. A
few dozen vertices, each found by letting every group take the tied cover that is least in a direction, nearly always
contain what whole GPUs need:

    min  c x     s.t.  A x >= sum_i lambda_i D_i,   sum_i lambda_i = 1,   sum_{q of g} x_q <= N_g,   c x >= T
    x whole, lambda >= 0

D_i: the vertex of direction i; T: steps below which no plan is. As many rows as sizes, at any number of workloads.
Where that costs more than T, the duals of its linear program are directions too, and covers that are dearer by no more
than the plan may waste are let in.

That whole x reach T is no theorem; the answer claims nothing but that its x carry its mixture.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp

from ...performance.interference.prediction import Floats, Ints
from ..slice_prices import Supply
from .whole_prices import ProvenCovers

RANDOM_DIRECTIONS = 4
"""For each size, beside a rising and a falling one."""

ROUNDS = 4
"""Of directions from the duals of the linear program."""

TIME_LIMIT_S = 0.5
"""For one integer program of a few rows."""

NEAR_ENOUGH = 0.2
"""GPUs of the cheapest type above the least cost with which no further directions are looked for."""

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


def mixed_demand(supply: Supply, proven: ProvenCovers) -> MixedDemand | None:
    """Returns the cheapest whole GPUs for mixtures of the covers; None: the counts allow none."""
    directions = _Directions(proven)
    sizes = proven.covers.counts.shape[1]
    for direction in _first_directions(sizes):
        directions.add(direction, 0)
    best = None
    near_enough = proven.least_steps + int(NEAR_ENOUGH * int(proven.prices.gpu_cost.min()))
    for turn in range(ROUNDS):
        dearer = 0 if turn < ROUNDS - 1 else proven.to_waste(best.steps if best else proven.least_steps)
        while directions.add(_scarcity(supply, directions, proven), dearer):
            pass
        found = _whole(supply, directions, proven)
        if found is not None and (best is None or found.steps < best.steps):
            best = found
        if best is not None and best.steps <= near_enough:
            break
        for direction in _first_directions(sizes, seed=turn + 1):
            directions.add(direction, dearer)
    return best


class _Directions:
    """Vertices found so far."""

    def __init__(self, proven: ProvenCovers) -> None:
        self._covers, self._reduced = proven.covers, proven.reduced
        self._counts = proven.covers.counts.astype(np.float64)
        self._tied = np.flatnonzero(proven.tied)
        self.taken: list[Ints] = []
        self.demand: list[Ints] = []

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
        taken = self._least(direction, dearer)
        demand = np.asarray(self._covers.members @ self._covers.counts[taken], dtype=np.int64)
        if any(np.array_equal(demand, other) for other in self.demand):
            return False
        self.taken.append(taken)
        self.demand.append(demand)
        return True

    def _least(self, direction: Floats, dearer: int) -> Ints:
        rows = self._tied if not dearer else np.flatnonzero(self._reduced <= dearer)
        cost = np.full(len(self._reduced), np.inf)
        cost[rows] = self._counts[rows] @ direction
        return self._covers.first_where(cost <= self._covers.least(cost))


def _first_directions(sizes: int, seed: int = 0) -> Iterator[Floats]:
    """Yields a rising and a falling direction of each size, and random ones."""
    if seed == 0:
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


def _scarcity(supply: Supply, directions: _Directions, proven: ProvenCovers) -> Floats | None:
    """Returns the duals of the sizes in the linear program, shape (size,); None: it has no solution."""
    rows, low, high = _rows(supply, directions)
    sizes = supply.instances.shape[1]
    objective = np.concatenate([proven.prices.gpu_cost, np.zeros(len(directions.demand))]).astype(np.float64)
    upper = np.vstack([-rows[:sizes], rows[sizes + 1 :]])
    limit = np.concatenate([-low[:sizes], high[sizes + 1 :]])
    answer = linprog(objective, A_ub=upper, b_ub=limit, A_eq=rows[sizes : sizes + 1], b_eq=[1.0], method="highs-ds")
    if answer.x is None:
        return None
    return np.asarray(-answer.ineqlin.marginals[:sizes], dtype=np.float64)


def _whole(supply: Supply, directions: _Directions, proven: ProvenCovers) -> MixedDemand | None:
    rows, low, high = _rows(supply, directions)
    cuts, vertices = len(supply.cost), len(directions.demand)
    cost = np.concatenate([proven.prices.gpu_cost, np.zeros(vertices)]).astype(np.float64)
    scale = float(proven.prices.gpu_cost.min())
    answer: OptimizeResult = milp(
        cost / scale,
        integrality=np.concatenate([np.ones(cuts), np.zeros(vertices)]),
        bounds=Bounds(0, np.concatenate([np.full(cuts, np.inf), np.ones(vertices)])),
        constraints=[
            LinearConstraint(rows, low, high),
            LinearConstraint(cost[None, :] / scale, (proven.least_steps - 0.01) / scale, np.inf),
        ],
        options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": 0.0},
    )
    if answer.x is None:
        return None
    whole = np.rint(answer.x[:cuts]).astype(np.int64)
    part = np.where(answer.x[cuts:] > NOT_ZERO, answer.x[cuts:], 0.0)
    mixed = np.flatnonzero(part)
    return MixedDemand(
        whole, int(whole @ proven.prices.gpu_cost), part[mixed] / part.sum(), np.array(directions.taken)[mixed]
    )
