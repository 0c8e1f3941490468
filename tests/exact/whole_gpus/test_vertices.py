"""Demands of cheapest covers that are least in a direction, against all choices of covers."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.whole_gpus.vertices import Vertices


@pytest.mark.parametrize("seed", range(10))
def test_a_vertex_is_least_in_its_direction_of_all_choices_that_are_no_dearer(seed):
    """Property: whatever was allowed before; of three groups every choice of covers."""
    draw = np.random.default_rng(seed)
    owner = np.repeat([0, 1, 2], draw.integers(2, 4, 3))
    counts, members = draw.integers(0, 5, (len(owner), 3)), draw.integers(1, 4, 3)
    reduced = draw.integers(1, 6, len(owner))
    reduced[np.searchsorted(owner, [0, 1, 2])] = 0
    covers = SimpleNamespace(counts=counts, owner=owner, members=members)
    found = Vertices(SimpleNamespace(covers=covers, reduced=reduced))
    known = set()
    for dearer in (0, 2, 5, 2, 0, 9):
        direction = draw.standard_normal(3)
        rows = [np.flatnonzero((owner == group) & (reduced <= dearer)) for group in range(3)]
        demands = [members @ counts[list(chosen)] for chosen in product(*rows)]
        least = min(demands, key=lambda demand: float(demand @ direction))
        assert found.add(direction, dearer) == (tuple(least.tolist()) not in known)
        known.add(tuple(least.tolist()))
        assert {tuple(one.tolist()) for one in found.demand} == known
    for taken, demand in zip(found.taken, found.demand, strict=True):
        assert owner[taken].tolist() == [0, 1, 2]
        assert (members @ counts[taken] == demand).all()
    assert not found.add(None, 0)
