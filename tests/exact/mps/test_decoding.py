"""Residents are dealt to the sets that were chosen, each once, with their least shares there."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact.mps.columns import Column
from sliceplan.solver.exact.mps.decoding import shared_gpus
from sliceplan.solver.exact.mps.program import MpsAnswer

ITEMS = [SimpleNamespace(limit_ms=10.0 + i, required_rps=100.0 + i) for i in range(3)]


class Sharing:
    """A resident needs its number of units, and one for each neighbour; limits and rates are those of its item."""

    capacity_units = 10

    def percent_of(self, units):
        return 10.0 * units

    def least_shares(self, workload, batch, limit, required):
        here = workload >= 0
        assert (limit[here] - 10 == required[here] - 100).all()
        assert (batch[here] == 1 + limit[here] - 10).all(), "a batch size of another item"
        units = np.where(here, 1 + limit.astype(int) - 10 + here.sum(axis=1, keepdims=True) - 1, 0)
        return units, units.sum(axis=1) <= self.capacity_units


RESOLVED = SimpleNamespace(mps={"x": Sharing(), "y": Sharing()})


def column(gpu, *items):
    return Column(gpu, items, tuple(1 + i for i in items), 5)


def resident(w, i, others):
    return Resident(w, 1 + i, 10.0 * (1 + i + others))


def test_residents_are_dealt_in_turn_and_places_that_nobody_wants_stay_empty():
    answer = MpsAnswer(
        ((column("x", 0, 1), 2), (column("y", 0, 0, 2), 1), (column("x", 2), 1)), {0: [7, 8, 9], 1: [4], 2: [3]}
    )
    assert shared_gpus(RESOLVED, ITEMS, answer) == [
        MpsGpu("x", (resident(7, 0, 1), resident(4, 1, 1))),
        MpsGpu("x", (resident(8, 0, 0),)),
        MpsGpu("y", (resident(9, 0, 1), resident(3, 2, 1))),
    ]


def test_gpus_of_a_set_that_nobody_wants_any_place_of_are_left_out():
    assert shared_gpus(RESOLVED, ITEMS, MpsAnswer(((column("x", 0), 3),), {0: [5]})) == [
        MpsGpu("x", (resident(5, 0, 0),))
    ]
    assert shared_gpus(RESOLVED, ITEMS, MpsAnswer((), {})) == []
    assert shared_gpus(RESOLVED, ITEMS, MpsAnswer(((column("x", 0), 1),), {})) == []


def test_residents_without_a_place_and_sets_that_do_not_fit_are_mistakes():
    with pytest.raises(RuntimeError, match="2 residents have no GPU"):
        shared_gpus(RESOLVED, ITEMS, MpsAnswer(((column("x", 0, 1), 1),), {0: [5, 6], 1: [5], 2: [4]}))
    too_much = MpsAnswer(((column("x", 0), 1), (column("x", 2, 2, 2), 1)), {0: [1], 2: [1, 2, 3]})
    with pytest.raises(RuntimeError, match="does not fit"):
        shared_gpus(RESOLVED, ITEMS, too_much)
