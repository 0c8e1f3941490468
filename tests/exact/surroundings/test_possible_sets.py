"""Which sets could fit a GPU, in a model so simple that the point where demands rise no more is found by hand."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.surroundings import possible_sets as module
from sliceplan.solver.exact.surroundings.least_demands import Guests
from sliceplan.solver.exact.surroundings.possible_sets import possible

CAPACITY, CLIENTS, MEMORY_MIB = 10, 2, 8.0


class Crowded:
    """A guest needs a unit, and more the more all ask together; it asks for as much as it has units, times its own."""

    def __init__(self, slope, asks):
        self.slope, self.asks = slope, asks

    def percent_needed_among(self, workload, batch, budget_ms, totals, residents):
        return 10.0 * (self.asks[workload] + self.slope * totals[0] + residents - 1) * batch / budget_ms

    def ability_rps(self, workload, batch, percent):
        return percent + 0.0 * batch * workload

    def demands_at(self, workload, ability):
        return (ability / 10 + 0.0 * workload,)


def guests(slope, asks, memory_mib):
    model = Crowded(slope, np.array(asks))
    mps = SimpleNamespace(
        model=model,
        clients=CLIENTS,
        memory_mib=MEMORY_MIB,
        capacity_units=CAPACITY,
        unit_percent=10.0,
        units_for=lambda percent: np.ceil(percent / 10 - 1e-4).astype(np.int64),
    )
    count = len(asks)
    ones = np.ones((count, 1), dtype=np.int64)
    return Guests(mps, (None,) * count, np.arange(count), ones, ones * 1.0, np.array(memory_mib))


def fits(one, slope, asks, memory_mib, steps):
    """Says the test once more: units at the demands so far, until these rise no more."""
    if len(one) > CLIENTS or sum(memory_mib[i] for i in one) > MEMORY_MIB:
        return False
    total = 0.0
    for _ in range(steps):
        units = [math.ceil(asks[i] + slope * total + len(one) - 1 - 1e-4) for i in one]
        if sum(units) > CAPACITY:
            return False
        if sum(units) <= total * 1.0001:
            return True
        total = max(total, sum(units) * (1 - 1e-6))
    return True


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("steps", [1, 2, 12])
def test_a_set_could_fit_where_its_units_stay_within_the_gpu_as_demands_rise(monkeypatch, seed, steps):
    """Property: with units, memory and clients that are often just enough, and a few sets at a time."""
    monkeypatch.setattr(module, "AT_ONCE", 4)
    monkeypatch.setattr(module, "MOST_STEPS", steps)
    draw = np.random.default_rng(seed)
    slope, asks, memory = draw.choice([0.0, 0.1, 0.3]), draw.integers(1, 5, 6).tolist(), draw.integers(0, 6, 6).tolist()
    of = guests(slope, asks, [float(one) for one in memory])
    expected = {}
    for size in range(1, 4):
        sets = list(combinations(range(6), size))
        own = possible(of, np.array(sets))
        expected |= {one: fits(one, slope, asks, memory, steps) for one in sets}
        assert own.tolist() == [expected[one] for one in sets]
    # Sets that were tested are told without another test.
    tested, every = module.TestedSets(of), list(expected)
    wanted = [one for one in every if expected[one]]
    assert wanted
    for sets in (every[::2], every, [every[0], every[-1], every[0]]):
        assert tested.possible(sets) == [one for one in sets if expected[one]]
    monkeypatch.setattr(module, "possible", None)
    assert tested.possible(every) == wanted
    assert [tested.is_possible(one) for one in every] == list(expected.values())
    groups = [np.array([one for one in every if len(one) == size]) for size in (1, 2)]
    assert tested.listed([*groups, np.zeros((0, 3), dtype=np.int64)]) == [one for one in wanted if len(one) < 3]


def test_demands_that_rise_push_a_set_out_step_by_step(monkeypatch):
    """Two guests of three units, with 3/10 more for each unit that all have: they take 6, then 10, then 12 of 10."""
    of, pair = guests(0.3, [2, 2], [4.0, 4.0]), np.array([[0, 1]])
    for steps, expected in ((1, True), (2, True), (3, False), (12, False)):
        monkeypatch.setattr(module, "MOST_STEPS", steps)
        assert possible(of, pair).tolist() == [expected]
        assert fits((0, 1), 0.3, [2, 2], [4, 4], steps) is expected


def test_there_may_be_no_sets():
    assert possible(guests(0.0, [1], [1.0]), np.zeros((0, 9), dtype=np.int64)).tolist() == []
