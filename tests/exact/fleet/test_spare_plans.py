"""GPUs cut for partitions in use and free ones, against all numbers of cuts; and what a service can spare."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.fleet import spare_plans as module
from sliceplan.solver.exact.fleet.spare_covers import _spared
from sliceplan.solver.exact.fleet.spare_plans import cheapest_cuts
from sliceplan.solver.exact.mig.spare_rules import SpareRules

CUTS = np.array([[2, 0], [1, 1], [0, 1], [0, 3]])
TYPES = np.array([0, 0, 0, 1])


@pytest.mark.parametrize("gpu_loss", [False, True])
@pytest.mark.parametrize("seed", range(16))
def test_the_cuts_hold_what_is_in_use_and_free_and_cost_the_least_but_for_less_than_a_gpu(monkeypatch, seed, gpu_loss):
    """Property: with counts that are at times too few; of a GPU that may be lost all partitions are free elsewhere."""
    draw = np.random.default_rng(seed)
    cost = np.where(TYPES == 0, 1.0, draw.choice([1.0, 2.0]))
    supply = Supply(CUTS, TYPES, cost, np.where(draw.random(2) < 0.5, np.inf, draw.integers(0, 4, 2)))
    monkeypatch.setattr(module, "supply_of", lambda *_: supply)
    monkeypatch.setattr(module, "replace", lambda one, **_: one)
    wanted, least_free = draw.integers(0, 4, 2), draw.integers(0, 3, 2)
    costs = []
    for times in product(range(7), repeat=len(CUTS)):
        used = np.bincount(TYPES, weights=times, minlength=2)
        free = np.array(times) @ CUTS - wanted
        lost = CUTS[np.flatnonzero(times)].max(axis=0, initial=0) if gpu_loss else 0
        if (used <= supply.available).all() and (free >= np.maximum(least_free, lost)).all():
            costs.append(np.array(times) @ cost)
    resolved = SimpleNamespace(sizes=[None, None])
    found = cheapest_cuts(resolved, [None] * len(CUTS), wanted, least_free, gpu_loss, time_limit_s=10.0)
    assert (found is None) == (not costs)
    if found is None:
        return
    times, free = found
    assert min(costs) <= times @ cost < min(costs) + cost.min()
    assert (np.bincount(TYPES, weights=times, minlength=2) <= supply.available).all()
    assert (times @ CUTS >= wanted + free).all()
    assert (free >= least_free).all()
    for cut in np.flatnonzero(times) if gpu_loss else ():
        assert (free >= CUTS[cut]).all()


def test_as_many_may_be_free_as_a_gpu_has_where_fewer_are_in_use(monkeypatch):
    """The other cut is of no use: only three of the second size on another GPU make up for one that is lost."""
    cuts = np.array([[2, 3], [0, 1]])
    supply = Supply(cuts, np.zeros(2, dtype=np.int64), np.ones(2), np.array([np.inf]))
    monkeypatch.setattr(module, "supply_of", lambda *_: supply)
    monkeypatch.setattr(module, "replace", lambda one, **_: one)
    resolved, nothing = SimpleNamespace(sizes=[None, None]), np.zeros(2, dtype=np.int64)
    times, free = cheapest_cuts(resolved, [None] * 2, np.array([1, 0]), nothing, True, time_limit_s=10.0)
    assert times.tolist() == [2, 0]
    assert free[0] in (2, 3)
    assert free[1] == 3


@pytest.mark.parametrize(
    ("own", "required", "least", "spared"),
    [
        ([3, 1], 30.0, 1, [0, 1]),  # 10 and 20 each: the dearer one is not needed
        ([3, 1], 31.0, 1, [1, 0]),  # but for one more request/s it is, and two of the others are enough beside it
        ([3, 1], 20.0, 1, [1, 1]),
        ([3, 1], 10.0, 1, [2, 1]),
        ([3, 1], 10.0, 3, [0, 1]),  # so many replicas it has to have
        ([3, 1], 50.0, 1, [0, 0]),
        ([0, 2], 20.0, 1, [0, 1]),
        ([3, 0], 20.0 * (1 + 1e-10), 1, [1, 0]),
    ],
)
def test_of_a_cover_as_much_is_spared_as_the_rate_of_today_does_not_need_the_dearest_first(
    own, required, least, spared
):
    resolved = SimpleNamespace(
        capacity_rps=np.array([[10.0, 20.0]]),
        required_rps=np.array([required]),
        problem=SimpleNamespace(workloads=[SimpleNamespace(min_replicas=least)]),
    )
    left = np.array(own)
    assert _spared(resolved, 0, left, np.array([1.0, 2.5])).tolist() == spared
    assert (left + spared).tolist() == own


@pytest.mark.parametrize("covers", [True, False])
@pytest.mark.parametrize("cuts", [True, False])
def test_a_plan_with_free_partitions_has_the_cuts_for_what_is_in_use_and_what_the_worst_case_takes(
    monkeypatch, covers, cuts
):
    """Two services; any one of them may need what it takes then."""
    own, extra = np.array([[1, 0], [2, 1]]), np.array([[3, 0], [1, 2]])
    asked = []

    def cheapest(_, patterns, wanted, least_free, gpu_loss, *, time_limit_s):
        asked.append((patterns, wanted.tolist(), least_free.tolist(), gpu_loss, time_limit_s))
        return (np.array([0, 4]), np.array([5, 6])) if cuts else None

    monkeypatch.setattr(module, "covers_with_spares", lambda *given: (own, extra) if covers and given[2:] else None)
    monkeypatch.setattr(module, "patterns_of", lambda _, entry, *, every: [(entry, every)])
    monkeypatch.setattr(module, "cheapest_cuts", cheapest)
    for loss in (False, True):
        rules, resolved = SpareRules(1, 0.5, loss), SimpleNamespace(fleet="ab")
        found = module.built_with_spares(resolved, rules, "partitions", "price", time_limit_s=7.0)
        if not (covers and cuts):
            assert found is None
            continue
        assert asked[-1] == ([("a", loss), ("b", loss)], [3, 1], [3, 2], loss, 7.0)
        assert found.patterns == ((("b", loss), 4),)
        assert (found.stopped, found.cost_bound) == ("time_limit", None)
        assert found.partitions is own
        assert found.spares.extra is extra
        assert found.spares.free.tolist() == [5, 6]
    assert bool(asked) is covers
