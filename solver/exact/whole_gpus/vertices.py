"""
Demands in which every group of workloads takes one of its cheapest covers: vertices of a sum of polytopes.

A vertex that is least in a direction is found by letting every group take its cover that is least in that direction.
"""

from collections.abc import Iterator

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..covers.covers import runs
from .whole_prices import ProvenCovers

RANDOM_DIRECTIONS = 4
"""For each size, beside a rising and a falling one."""


class Vertices:
    """Vertices found so far."""

    def __init__(self, proven: ProvenCovers) -> None:
        self.proven = proven
        self._near = _NearlyCheapest(proven, 0)
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
            self._near = _NearlyCheapest(self.proven, dearer)
        taken, demand = self._near.least(direction)
        if demand.tobytes() in self._known:
            return False
        self._known.add(demand.tobytes())
        self.taken.append(taken)
        self.demand.append(demand)
        return True


class _NearlyCheapest:
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


def directions(sizes: int, seed: int = 0) -> Iterator[Floats]:
    """Yields that of the fewest partitions, a rising and a falling one of each size, and random ones."""
    if seed == 0:
        yield np.ones(sizes)  # the fewest partitions
        yield from np.vstack([np.eye(sizes), -np.eye(sizes)])
    draw = np.random.default_rng(seed)
    yield from draw.standard_normal((RANDOM_DIRECTIONS * sizes, sizes))


def first_vertices(proven: ProvenCovers) -> Vertices:
    """Returns the vertices of the first directions."""
    vertices = Vertices(proven)
    for direction in directions(proven.covers.counts.shape[1]):
        vertices.add(direction, 0)
    return vertices
