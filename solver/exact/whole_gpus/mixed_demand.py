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
than the plan may waste are let in. Where the counts of GPUs allow no x, mixture_programs.py finds vertices for the x
that come nearest.

Of all x and mixtures of that cost, those with the fewest partitions are wanted: each is an instance to create, and a
place where a batch waits to fill up. That is the same program with the cost given, solved nearly.

That whole x reach T is no theorem; the answer claims nothing but that its x carry its mixture, to about a millionth of
what a vertex asks of a size, which is the solver's tolerance: whoever takes it counts whole partitions.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..dual.supply import Supply
from .mixture_programs import (
    NOT_ZERO,
    Fractional,
    Mixed,
    carried_by_counts,
    cheapest_gpus,
    cheapest_parts,
    fewest_partitions,
)
from .vertices import Vertices, directions, first_vertices
from .whole_prices import ProvenCovers

ROUNDS = 4
"""Of directions from the duals of the linear program."""

MOST_SCARCE = 100
"""Directions from duals, one after the other, in one of these rounds."""

AS_GOOD = 1e-9
"""Part of the cost asked for by which a fractional plan may be dearer and needs no further direction."""

NEAR_ENOUGH = 0.2
"""GPUs of the cheapest type above the least cost with which no further directions are looked for."""


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


def mixed_demands(supply: Supply, proven: ProvenCovers, at_least: int) -> tuple[MixedDemand, ...]:
    """
    Returns the cheapest whole GPUs, of `at_least` steps, with mixtures of covers that they carry.

    The one with the fewest partitions comes first, and what it may be exchanged for next; none: the counts allow none.
    """
    vertices = first_vertices(proven)
    best = None
    near_enough = at_least + int(NEAR_ENOUGH * int(proven.prices.gpu_cost.min()))
    for turn in range(ROUNDS):
        dearer = 0 if turn == 0 else max(proven.to_waste(best.steps if best else at_least), 0)
        _ask_duals(supply, vertices, at_least, dearer)
        whole = cheapest_gpus(supply, vertices, at_least) or carried_by_counts(supply, vertices, at_least, dearer)
        found = _demand(whole, vertices)
        if found is not None and (best is None or found.steps < best.steps):
            best = found
        if best is not None and best.steps <= near_enough:
            break
        for direction in directions(supply.instances.shape[1], seed=turn + 1):
            vertices.add(direction, dearer)
    if best is None:
        return ()
    fewest = _demand(fewest_partitions(supply, vertices, best.steps), vertices)
    if fewest is None or fewest.steps > best.steps or fewest.partitions(proven) >= best.partitions(proven):
        return (best,)
    return fewest, best


@dataclass(frozen=True, eq=False)
class FractionalGpus:
    """A cheapest plan where parts of GPUs may be had."""

    of_type: Floats
    """Shape (type,)."""
    rounded: MixedDemand | None
    """
    Every cut as often as the next whole number says, or the number before where a type has no more GPUs.

    None: no time was left for the parts of GPUs, or no mixture of tied covers was found that the counts carry.
    """


def fractional_gpus(supply: Supply, proven: ProvenCovers) -> FractionalGpus:
    """Returns a cheapest plan where parts of GPUs may be had, of tied covers."""
    vertices = first_vertices(proven)
    found = _ask_duals(supply, vertices, proven.least_steps, 0)
    of_type = _of_type(supply, found.cuts)
    carried = found.part.any() and (of_type <= supply.available + NOT_ZERO).all()
    rounded = Mixed(_rounded(supply, found.cuts), found.part) if carried else None
    return FractionalGpus(of_type, _demand(rounded, vertices))


def _rounded(supply: Supply, cuts: Floats) -> Ints:
    """Rounds up, and down those that are least above a whole number where there are not so many GPUs of a type."""
    down = np.floor(cuts + NOT_ZERO)
    more = cuts > down + NOT_ZERO
    for g, available in enumerate(supply.available):
        own = supply.gpu_type == g
        room = max(available - down[own].sum(), 0.0)
        if more[own].sum() > room:
            most = np.argsort(np.where(own & more, down - cuts, np.inf), kind="stable")[: int(room)]
            more[own] = False
            more[most] = True
    return (down + more).astype(np.int64)


def _of_type(supply: Supply, cuts: Floats | Ints) -> Floats:
    counts = np.bincount(supply.gpu_type, weights=cuts, minlength=len(supply.available))
    return np.asarray(counts, dtype=np.float64)


def _ask_duals(supply: Supply, vertices: Vertices, at_least: int, dearer: int) -> Fractional:
    """Adds vertices in directions of duals until parts of GPUs, which it returns, cost no more, or none is new."""
    for _ in range(MOST_SCARCE):
        found = cheapest_parts(supply, vertices)
        if found.steps <= at_least * (1 + AS_GOOD) or not vertices.add(found.scarcity, dearer):
            break
    return found


def _demand(found: Mixed | None, vertices: Vertices) -> MixedDemand | None:
    """Returns a mixture with the covers that its vertices take."""
    if found is None:
        return None
    part = np.where(found.part > NOT_ZERO, found.part, 0.0)
    mixed = np.flatnonzero(part)
    steps = int(found.cuts @ vertices.proven.prices.gpu_cost)
    return MixedDemand(found.cuts, steps, part[mixed] / part.sum(), np.array(vertices.taken)[mixed])
