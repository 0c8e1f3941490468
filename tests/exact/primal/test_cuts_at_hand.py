"""Covers and cuts that are found without a solver: every rate is carried, every partition has a place."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.fractional_covers import fractional_optimum, instance
from problems.instances import random_problem, second_type, two_type_problem

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual.lagrangian_data import lagrangian_data
from sliceplan.solver.exact.dual.prices_at_hand import prices_at_hand
from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.primal import cuts_at_hand as module
from sliceplan.solver.exact.primal.cuts_at_hand import NUDGES, TURNS, CutsAtHand, _turns, cuts_at_hand, greedy_cuts
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

NEVER = 1e18


def fewest(instances, wanted):
    """Returns the fewest cuts with at least so many of each size, by trying all numbers of each."""
    most = range(int(wanted.sum()) + 1)
    return min(sum(times) for times in product(most, repeat=len(instances)) if (times @ instances >= wanted).all())


@cache
def priced(seed):
    """Returns an instance with its prices and the least cost of fractions of GPUs."""
    demands, supply = instance(seed)
    return demands, supply, prices_at_hand(demands, supply, deadline=NEVER).price, fractional_optimum(demands, supply)


@pytest.mark.parametrize("deadline", [-1.0, NEVER])
def test_rates_replicas_and_counts_are_kept_and_nothing_is_cheaper_than_fractions_of_gpus(deadline):
    placed = 0
    for seed in range(60):
        demands, supply, price, least = priced(seed)
        *_, found = [None, *cuts_at_hand(demands, supply, price, deadline=deadline)]
        if found is None:
            continue
        placed += 1
        replicas = found.partitions.sum(axis=1)
        assert ((found.partitions * demands.part).sum(axis=1) >= 1 - 1e-6).all()
        assert ((replicas >= demands.least) & (replicas <= np.minimum(demands.most, NO_LIMIT))).all()
        assert (found.times @ supply.instances >= found.partitions.sum(axis=0)).all()
        used = np.bincount(supply.gpu_type, weights=found.times, minlength=len(supply.available))
        assert (used <= supply.available).all()
        assert found.times @ supply.cost >= least * (1 - 1e-9)
    assert placed > 30


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2).filter(any), min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=2, max_size=2),
    st.lists(st.floats(0.1, 2), min_size=2, max_size=2),
)
@settings(max_examples=60, deadline=None)
def test_greedy_cuts_hold_what_is_wanted_or_say_what_has_no_place(cuts, wanted, price):
    instances, wanted = np.array(cuts), np.array(wanted)
    supply = Supply(instances, np.zeros(len(cuts), dtype=np.int64), np.ones(len(cuts)), np.array([np.inf]))
    times, left = greedy_cuts(supply, wanted, np.array(price))
    assert (left == np.where(instances.any(axis=0), 0, wanted)).all()
    assert (times @ instances >= wanted - left).all()
    assert times.sum() >= fewest(instances, wanted - left)


def test_beyond_the_gpus_that_there_are_nothing_is_cut():
    supply = Supply(np.array([[2, 1]]), np.zeros(1, dtype=np.int64), np.ones(1), np.array([2.0]))
    times, left = greedy_cuts(supply, np.array([5, 1]), np.ones(2))
    assert (times.tolist(), left.tolist()) == ([2], [1, 0])


@pytest.mark.parametrize(("draw", "waste"), [(random_problem, 0.05), (two_type_problem, 0.1)])
def test_many_services_waste_little(draw, waste):
    """Also where there are few more GPUs of either type than all must have."""
    data = lagrangian_data(resolve(draw(300, 1), [*shipped_profiles(), *second_type()]))
    demands, supply = data.demands, data.supply
    found = prices_at_hand(demands, supply, deadline=NEVER)
    *_, cuts = cuts_at_hand(demands, supply, found.price, deadline=NEVER)
    assert cuts.times @ supply.cost <= (1 + waste) * found.bound


@pytest.mark.parametrize("seed", range(30))
def test_greedy_cuts_are_those_whose_wanted_partitions_are_worth_most_for_what_the_gpu_costs(seed):
    """By one GPU after the other, with rents and counts, also of 0; whole prices, so that there are ties."""
    draw = np.random.default_rng(seed)
    instances = draw.integers(0, 3, (5, 3))
    instances[:2, 2], instances[2:, :2] = 0, 0  # sizes 0 and 1 of the first type
    supply = Supply(
        instances,
        np.array([0, 0, 1, 1, 1]),
        draw.integers(1, 6, 5).astype(float),
        np.where(draw.random(2) < 0.5, np.inf, draw.integers(0, 4, 2)),
    )
    wanted, price = draw.integers(0, 7, 3), draw.integers(1, 4, 3).astype(float)
    rent = [
        max([0.0, *(instances[q] @ price - supply.cost[q] for q in range(5) if supply.gpu_type[q] == g)])
        for g in range(2)
    ]
    left, gpus, times = wanted.tolist(), supply.available.tolist(), [0] * 5
    while True:
        worth = [
            sum(min(a, b) * p for a, b, p in zip(instances[q].tolist(), left, price, strict=True))
            / (supply.cost[q] + rent[supply.gpu_type[q]])
            if gpus[supply.gpu_type[q]] >= 1
            else 0.0
            for q in range(5)
        ]
        best = worth.index(max(worth))
        if worth[best] <= 0:
            break
        # As often as all that it has of sizes that are wanted is wanted, and once in any case.
        times[best] += 1
        gpus[supply.gpu_type[best]] -= 1
        left = [max(a - b, 0) for a, b in zip(left, instances[best].tolist(), strict=True)]
    found, beyond = greedy_cuts(supply, wanted, price)
    assert (found.tolist(), beyond.tolist()) == (times, left)


def test_who_needs_a_type_that_is_counted_is_covered_first_and_the_others_in_turns():
    part = np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [0.5, 1.0], [0.5, 0.3]])
    demands = Demands(part, np.ones(5, dtype=np.int64), np.array([NO_LIMIT] * 4 + [3]))
    cuts, cost = np.array([[2, 0], [0, 2]]), np.ones(2)
    counted = Supply(cuts, np.array([0, 1]), cost, np.array([4.0, np.inf]))
    # Three partitions of the other size carry 0.9 of the last one's rate.
    assert [rows.tolist() for rows in _turns(demands, counted, 2)] == [[1, 4], [0, 3], [2]]
    assert [rows.tolist() for rows in _turns(demands, counted, 5)] == [[1, 4], [0], [2], [3]]
    free = Supply(cuts, np.array([0, 1]), cost, np.array([np.inf, np.inf]))
    assert [rows.tolist() for rows in _turns(demands, free, 2)] == [[0, 2, 4], [1, 3]]


@pytest.mark.parametrize(
    ("costs", "late", "offered"),
    [
        ((5, None, 4, 6), False, [5, 4]),
        ((5, 4, 2, 3), False, [5, 2]),
        ((5, 5, 6, None), False, [5]),
        ((None, None, 6, 7), False, [6]),
        ((None, 7, 7, 6), False, [6]),
        ((None, None, None, None), False, []),
        ((5, 4, 4, 4), True, [5]),
        ((None, 6, 4, 4), True, [6]),
    ],
)
def test_what_is_found_at_once_is_followed_by_the_cheapest_of_a_few_tries_if_it_is_cheaper(
    monkeypatch, costs, late, offered
):
    """A first try in one turn without nudges, the others in many; without time none once there is a plan."""
    tries = iter([(cost, i) for i, cost in enumerate(costs)])
    asked = []

    def covered(*of):
        asked.append(of[3:])
        cost, number = next(tries)
        return None if cost is None else CutsAtHand(number, np.array([cost]))

    monkeypatch.setattr(module, "_covered_in_turns", covered)
    monkeypatch.setattr(module, "_turns", lambda _, __, number: number)
    supply = Supply(np.ones((1, 1), dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1), np.array([np.inf]))
    found = list(cuts_at_hand(None, supply, None, deadline=-np.inf if late else np.inf))
    assert [int(one.times[0]) for one in found] == offered
    assert asked == [(1, 0.0), *((TURNS, nudge) for nudge in NUDGES)][: len(asked)]
    assert len(asked) == (4 if not late else 1 if costs[0] else 2)
