"""Rents, and prices at which no cut is worth more than it costs, one cut after the other."""

import numpy as np
import pytest

from sliceplan.solver.exact.dual.lagrangian_data import _kinds
from sliceplan.solver.exact.dual.supply import (
    LEAST_PRICE,
    Supply,
    feasible,
    feasible_unlimited,
    least_rent,
    proportional,
)


def drawn(draw):
    """Returns three types with two sizes each, the last with one; whole prices, so that cuts are worth just as much."""
    cuts = [[2, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 1, 2, 0], [0, 0, 0, 0, 1]]
    available = np.where(draw.random(3) < 0.5, np.inf, draw.integers(0, 4, 3))
    return Supply(np.array(cuts), np.array([0, 0, 1, 1, 2]), draw.integers(1, 7, 5).astype(float), available)


@pytest.mark.parametrize("seed", range(20))
def test_a_rent_is_what_the_most_valuable_cut_is_worth_beyond_its_cost(seed):
    draw = np.random.default_rng(seed)
    supply, price = drawn(draw), draw.integers(0, 4, 5).astype(float)
    expected = [0.0, 0.0, 0.0]
    for cut, of_type, cost in zip(supply.instances.tolist(), supply.gpu_type.tolist(), supply.cost, strict=True):
        worth = sum(number * own for number, own in zip(cut, price, strict=True))
        expected[of_type] = max(expected[of_type], worth - cost)
    assert least_rent(supply, price).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_prices_are_lowered_till_no_cut_of_a_type_without_limit_is_worth_more_and_no_further(seed):
    draw = np.random.default_rng(seed)
    supply, price = drawn(draw), draw.integers(0, 4, 5).astype(float)
    parts = [
        sum(number * own for number, own in zip(cut, price, strict=True)) / cost
        for cut, of_type, cost in zip(supply.instances.tolist(), supply.gpu_type.tolist(), supply.cost, strict=True)
        if np.isinf(supply.available[of_type])
    ]
    dearest = max([1.0, *parts])
    assert feasible_unlimited(supply, price) == pytest.approx(price / dearest)
    floored = np.array([max(own, LEAST_PRICE * max(price.max(), 1e-9)) for own in price])
    found = feasible(supply, price)
    assert (found > 0).all()
    assert found == pytest.approx(floored / dearest, rel=1e-5)
    if dearest == 1.0:
        assert np.array_equal(feasible_unlimited(supply, price), price)


def test_prices_of_nothing_are_above_0():
    supply = drawn(np.random.default_rng(0))
    assert feasible(supply, np.zeros(5)).tolist() == [LEAST_PRICE * 1e-9] * 5


def test_a_size_costs_its_part_of_the_cheapest_gpu_that_is_cut_into_it_alone():
    cuts = np.array([[4, 0], [2, 0], [0, 2], [1, 1]])
    supply = Supply(cuts, np.array([0, 1, 0, 0]), np.array([8.0, 3.0, 5.0, 8.0]), np.full(2, np.inf))
    assert proportional(supply).tolist() == [1.5, 2.5]


@pytest.mark.parametrize("seed", range(10))
def test_workloads_of_one_kind_have_the_same_capacities_and_limits_and_kinds_are_in_their_order(seed):
    draw = np.random.default_rng(seed)
    capacity = draw.integers(0, 2, (20, 2)).astype(float)
    least, most = draw.integers(1, 3, 20), draw.choice([2, 3, np.iinfo(np.int64).max], 20)
    rows = [(*own, a, b) for own, a, b in zip(capacity.tolist(), least.tolist(), most.tolist(), strict=True)]
    order = sorted(set(rows))
    assert _kinds(capacity, least, most).tolist() == [order.index(row) for row in rows]
