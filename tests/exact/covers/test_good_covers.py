"""Covers found without a search: what they carry and cost, and that none of the simple ones is cheaper."""

import math

import numpy as np
import pytest

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.covers.good_covers import GoodCovers, cheapest_sizes, fluid, good_covers, whole_number
from sliceplan.solver.exact.covers.shared_rates import SharedRates


def drawn(draw):
    """Returns the parts of one workload on three sizes, its replicas and prices."""
    part = np.where(draw.random(3) < 0.2, 0.0, draw.choice([draw.uniform(0.05, 1.0, 3), np.array([1.0, 0.5, 0.25])]))
    part[draw.integers(3)] = draw.uniform(0.1, 1.0)
    least = int(draw.choice([1, 1, 2, 4]))
    return part, least, int(draw.choice([NO_LIMIT, max(least, 3)])), draw.uniform(0.2, 2.0, 3)


def simple(part, least, most, price):
    """
    Returns the least cost of as many as fit of the size of the least price per part, or one fewer, or none, and then
    of one size for the rest.

    Replicas that are still missing are of the cheapest size.
    """
    usable = [k for k in range(3) if part[k] > 0]
    best = min(usable, key=lambda k: price[k] / part[k])
    full = math.floor(1 / part[best] + 1e-9)
    costs = [math.inf]
    for number in {full, full - 1, 0}:
        rest = 1 - number * part[best]
        for k in usable:
            more = math.ceil(rest / part[k] - 1e-6) if rest > 1e-6 else 0
            missing = max(least - number - more, 0)
            if number + more <= most:
                costs.append(number * price[best] + more * price[k] + missing * min(price[j] for j in usable))
    return min(costs)


def test_no_cover_of_two_sizes_by_the_module_is_cheaper_and_it_carries_the_rate():
    """Property: with the replicas that are asked for, and no more than are allowed."""
    draw, found_some, none = np.random.default_rng(0), 0, 0
    for _ in range(300):
        part, least, most, price = drawn(draw)
        demands = Demands(np.array([part]), np.array([least]), np.array([most]))
        found = good_covers(demands, price)
        expected = simple(part, least, most, price)
        assert found.cost[0] == pytest.approx(expected), (part, least, most, price)
        if expected == math.inf:
            none += 1
            continue
        found_some += 1
        assert found.counts[0] @ price == pytest.approx(expected)
        assert found.counts[0] @ part >= 1 - 1e-6
        assert least <= found.counts[0].sum() <= most
        assert fluid(demands, price)[0] <= expected * (1 + 1e-9)
    assert found_some > 200
    assert none > 3


def test_where_gpus_under_mps_are_cheaper_there_are_no_partitions():
    shared = SharedRates(np.array([[0.4], [0.4]]), np.array([[0.1], [0.1]]), np.array([10.0]))
    demands = Demands(np.array([[0.5], [0.5]]), np.ones(2, dtype=np.int64), np.full(2, NO_LIMIT), shared)
    for usd, cost, counts, taken in ((1.0, 0.4, 0, 0.4), (3.0, 0.8, 2, 0.0)):
        found = good_covers(demands, np.array([0.4, usd]))
        assert isinstance(found, GoodCovers)
        assert found.cost == pytest.approx([cost, cost])
        assert found.counts.tolist() == [[counts], [counts]]
        assert found.shared == pytest.approx(np.array([[taken], [taken]]))


def test_without_sizes_nobody_has_a_cover_by_partitions():
    """All GPUs are shared by MPS."""
    none = Demands(np.zeros((3, 0)), np.ones(3, dtype=np.int64), np.full(3, NO_LIMIT))
    found = good_covers(none, np.zeros(0))
    assert found.counts.shape == (3, 0)
    assert found.cost.tolist() == [np.inf] * 3


@pytest.mark.parametrize("part", [0.2, 0.25, 1.0, 1e-3])
def test_what_is_carried_already_needs_no_partitions_and_what_rounding_misses_no_further_one(part):
    rest = np.array([-0.6, -1e-12, 0.0, 1e-12, part, part + 1e-12, part * 1.01, 3 * part, 1.0])
    expected = [0, 0, 0, 0, 1, 1, 2, 3, math.ceil(1 / part - 1e-6)]
    assert whole_number(rest, np.full(9, part)).tolist() == expected


def test_a_fluid_costs_the_least_of_partitions_and_of_gpus_under_mps():
    shared = SharedRates(np.array([[0.4, 2.0], [0.4, np.inf]]), np.full((2, 2), 0.1), np.array([10.0, 10.0]))
    part = np.array([[0.5, 1.0], [0.0, 0.25]])
    demands = Demands(part, np.ones(2, dtype=np.int64), np.full(2, NO_LIMIT), shared)
    for price, least in (
        ([1.0, 1.5, 9.0, 9.0], [1.5, 3.6]),
        ([0.6, 1.5, 9.0, 9.0], [1.2, 3.6]),
        ([9.0, 0.5, 9.0, 9.0], [0.5, 2.0]),
        ([9.0, 9.0, 2.0, 0.1], [0.2, 0.8]),
    ):
        assert fluid(demands, np.array(price)) == pytest.approx(least, rel=1e-5)
    assert fluid(Demands(part, demands.least, demands.most), np.array([1.0, 1.5])).tolist() == [1.5, 6.0]


def test_the_cheapest_size_is_one_that_serves_and_there_may_be_none_at_all():
    part = np.array([[0.0, 0.5, 1.0], [1.0, 1.0, 1.0]])
    assert cheapest_sizes(part, np.array([1.0, 3.0, 2.0])).tolist() == [2, 0]
    assert cheapest_sizes(np.zeros((2, 0)), np.zeros(0)).tolist() == [0, 0]
