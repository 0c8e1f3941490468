"""Prices that are found without a solver: their bound against the linear program that it is the dual of."""

import time
from functools import cache
from itertools import product

import numpy as np
import pytest
from oracles.fractional_covers import fractional_optimum, instance
from problems.igniter_instances import random_mps_problem
from problems.instances import random_problem, second_type, two_type_problem

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual import prices_at_hand as module
from sliceplan.solver.exact.dual.lagrangian_data import lagrangian_data
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.dual.prices_at_hand import prices_at_hand
from sliceplan.solver.exact.dual.supply import Supply, least_rent
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

NEVER = 1e18
PROFILES = [*shipped_profiles(), *second_type()]


@cache
def optimum_of(seed):
    return fractional_optimum(*instance(seed))


@pytest.mark.parametrize("fluid", [False, True])
@pytest.mark.parametrize("deadline", [-1.0, NEVER])
def test_the_bound_is_never_above_the_fractional_optimum(monkeypatch, deadline, fluid):
    """Property: with counts of GPUs and without, with and without time, and where covers are too many to look at."""
    if fluid:
        monkeypatch.setattr(module, "MOST_STATES", 0)
    least = []
    for seed in range(60):
        demands, supply = instance(seed)
        found = prices_at_hand(demands, supply, deadline=deadline)
        optimum = optimum_of(seed)
        if optimum is None:  # too few GPUs: any bound is one
            continue
        assert found.bound <= optimum * (1 + 1e-9), seed
        cost = supply.cost + least_rent(supply, found.price)[supply.gpu_type]
        assert (supply.instances @ found.price <= cost * (1 + 1e-9)).all()
        least.append(found.bound / optimum)
    assert len(least) > 40
    if deadline == NEVER and not fluid:
        assert np.median(least) > 0.95


@pytest.mark.parametrize(
    "problem",
    [random_problem(30, 1), random_problem(400, 2), two_type_problem(40, 3), random_mps_problem(40, 1)],
    ids=["30", "400", "two-types", "mps"],
)
def test_the_bound_is_nearly_that_of_the_best_prices(problem):
    data = lagrangian_data(resolve(problem, PROFILES))
    demands, supply = data.demands, data.supply
    best = best_prices(demands, supply, start=None, enough=np.inf, deadline=time.monotonic() + 20)
    found = prices_at_hand(demands, supply, deadline=NEVER)
    assert 0.98 * best.bound <= found.bound <= best.bound * (1 + 1e-6)


def two_types(available):
    """Returns sizes 0 and 1 of one type, 2 of another, and GPUs of a third that are shared."""
    cuts = np.array([[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 4, 0], [0, 0, 0, 1]])
    return Supply(cuts, np.array([0, 0, 1, 2]), np.array([2.0, 2.0, 3.0, 5.0]), np.array(available))


INF = np.inf


@pytest.mark.parametrize(
    ("available", "expected"),
    [
        ([INF, INF, INF], [0.5, 2.0, 0.75, 5.0]),  # the best cut of each is worth its cost
        ([3.0, INF, INF], [1.0, 4.0, 0.75, 5.0]),  # worth more than that already
        ([INF, 3.0, 3.0], [0.5, 2.0, 0.75, 5.0]),  # worth less: raised
    ],
)
def test_prices_are_tight_where_the_best_cut_of_each_type_is_worth_its_cost(available, expected):
    assert module._tight(two_types(available), np.array([1.0, 4.0, 0.5, 4.0])) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("available", "together"),
    [([INF, INF, INF], []), ([2.0, INF, INF], [[0, 1]]), ([2.0, INF, 0.0], [[0, 1], [3], [0, 1, 3]])],
)
def test_sizes_of_types_with_counts_move_together_too(available, together):
    found = [one.tolist() for one in module._moved_together(two_types(available))]
    assert found == [[0], [1], [2], [3], *together]


def test_rents_are_those_of_all_gpus_that_there_are():
    price = np.array([1.5, 3.0, 1.0, 7.0])
    assert module._scarcity(two_types([INF, INF, INF]), price) == 0.0
    assert module._scarcity(two_types([3.0, 2.0, INF]), price) == 3 * 1.0 + 2 * 1.0


@pytest.mark.parametrize("seed", range(10))
def test_what_workloads_cost_at_least_is_their_cheapest_cover_or_that_of_a_fluid(monkeypatch, seed):
    demands, _ = instance(seed)
    price = np.random.default_rng(seed).uniform(0.1, 1, 3)
    covers = [np.array(one) for one in product(range(7), repeat=3)]
    cheapest = [
        min(one @ price for one in covers if one.sum() >= least and one @ part >= 1 - 1e-12)
        for part, least in zip(demands.part, demands.least, strict=True)
    ]
    assert module._floors(demands, price) == pytest.approx(cheapest)
    monkeypatch.setattr(module, "MOST_STATES", 0)
    fluid = module._floors(demands, price)
    assert (fluid <= np.array(cheapest) * (1 + 1e-12)).all()
    assert (fluid >= (price / demands.part).min(axis=1) * (1 - 1e-12)).all()


def test_a_sample_has_rates_from_the_least_to_the_greatest_and_its_part_of_the_gpus(monkeypatch):
    """Great rates as several of a part each; those that no good cover serves are left out."""
    monkeypatch.setattr(module, "SAMPLE", 5)
    part = np.array([[0.1, 0.9], [1.0, 1.0], [0.02, 0.05], [1.0, 1.0], [0.5, 1.0], [1.0, 1.0], [0.1, 0.1]])
    part = np.vstack([part, [[1.0, 1.0], [0.25, 0.5]]])
    most = np.where(np.arange(9) == 6, 2, NO_LIMIT)  # it would need ten partitions
    demands = Demands(part, np.ones(9, dtype=np.int64), most)
    cuts = np.array([[4, 0], [0, 2]])
    supply = Supply(cuts, np.array([0, 1]), np.array([1.0, 1.5]), np.array([9.0, INF]))
    sample = module._sampled(demands, supply)
    # Of workloads 0, 2, 4, 6 and 8; 1 / 0.05 = 20 partitions of the third are 7 times at most 3.
    assert sample.weight.tolist() == [1.0, 7.0, 1.0, 1.0]
    assert sample.demands.part == pytest.approx(np.array([[0.1, 0.9], [0.14, 0.35], [0.5, 1.0], [0.25, 0.5]]))
    assert sample.supply.available.tolist() == [5.0, INF]
    # Covers cost 1 + 1/2, 3 and, of the smaller size, 2 and 4 halves; four of that size are worth 2 of a GPU for 1.
    assert sample.value(np.array([0.5, 1.0])) == pytest.approx(1.5 + 7 * 3.0 + 1.0 + 2.0 - 5 * 1.0)
