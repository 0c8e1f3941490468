"""Exact prices: what they prove holds against enumeration, at good prices and at any others."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.mig_oracle import TooManyError, least_cost
from problems.mig_draws import small_problem
from problems.mig_statement import stated

from sliceplan.solver.exact.covers.covers import cheapest_covers
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.covers.listed_covers import listed_covers
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.whole_gpus import whole_prices as module
from sliceplan.solver.exact.whole_gpus.whole_plan import proven_at
from sliceplan.solver.exact.whole_gpus.whole_prices import are_listed, proven_covers, whole_prices


@pytest.mark.parametrize("block", range(2))
def test_no_plan_costs_less_than_whole_prices_prove(block):
    """At the best prices, and at prices that are off by anything."""
    proven = 0
    for seed in range(16 * block, 16 * block + 16):
        problem, profiles = small_problem(seed)
        found = stated(problem, profiles)
        if found is None:
            continue
        try:
            least = least_cost(problem, profiles)
        except TooManyError:
            continue
        if least is None:
            continue
        supply, demands, steps = found
        priced = best_prices(demands, supply, start=None, enough=np.inf, deadline=np.inf)
        bound = proven_at(demands, supply, priced, steps)
        if bound is None:
            continue
        proven += 1
        step = Fraction(f"{steps.step:.12g}")
        least *= 1 + Fraction(1, 10**9)  # prices are read to 12 digits
        assert bound.least_steps * step <= least
        assert bound.bound * step / bound.prices.parts >= Fraction(priced.bound) * (1 - Fraction(1, 10**4))
        draw = np.random.default_rng(seed)
        worse = priced.price * draw.uniform(0.2, 1.0, len(priced.price)) / steps.step
        gpu_cost = np.rint(supply.cost / steps.step).astype(np.int64)
        prices = whole_prices(worse, supply, gpu_cost, priced.covers)
        if prices is not None:
            again = listed_covers(demands, prices.in_steps, np.zeros(len(demands.least)))
            assert proven_covers(prices, supply, again).least_steps * step <= least
    assert proven >= 4


@settings(max_examples=80)
@given(
    st.lists(st.lists(st.floats(0.05, 1.0), min_size=3, max_size=3), min_size=1, max_size=4),
    st.lists(st.integers(20, 400), min_size=3, max_size=3),
    st.lists(st.floats(-0.02, 0.02), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.005, 0.03]),
    st.sampled_from([1, 1, 4]),
)
@example([[0.5, 0.4, 0.1]], [101, 100, 400], [-0.01, 0.01, 0.0], 0.03, 4)
def test_covers_that_are_said_to_be_listed_are(parts, whole, moves, slack, least):
    demands = Demands(np.array(parts), np.full(len(parts), least), np.full(len(parts), NO_LIMIT))
    supply = Supply(np.eye(3, dtype=np.int64), np.zeros(3, dtype=np.int64), np.full(3, 500.0), np.array([np.inf]))
    gpu_cost = np.full(3, 500)
    rational = np.array(whole, dtype=np.float64)
    price = rational * (1 + np.array(moves))
    listed = listed_covers(demands, price, np.full(len(parts), slack))
    prices = whole_prices(rational, supply, gpu_cost, listed.covers)
    if prices is None or not are_listed(prices, price, slack, listed.covers, filled=least > 1):
        return
    least = cheapest_covers(demands, prices.in_steps).floor
    now = np.minimum.reduceat(listed.covers.counts @ prices.in_steps, listed.covers.first)[listed.covers.group]
    assert now == pytest.approx(least, rel=1e-9)


def test_some_covers_are_said_to_be_listed():
    demands = Demands(np.array([[0.3, 0.7]]), np.array([1]), np.array([NO_LIMIT]))
    price = np.array([1.0, 2.0]) * (1 + 1e-7)
    supply = Supply(np.array([[2, 0], [0, 1]]), np.zeros(2, dtype=np.int64), np.full(2, 2.0), np.array([np.inf]))
    listed = listed_covers(demands, price, np.array([0.01]))
    prices = whole_prices(price, supply, np.array([2, 2]), listed.covers)
    assert prices.price.tolist() == [1, 2]
    assert prices.parts == 1
    assert are_listed(prices, price, 0.01, listed.covers, filled=False)
    assert not are_listed(prices, price, 0.0, listed.covers, filled=False)


@settings(max_examples=100)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=7), st.integers(1, 900))
def test_a_fraction_is_found_again(numerators, denominator):
    price = np.array(numerators) / denominator * (1 + 1e-12)
    parts = module._parts(price)
    exact = [Fraction(one, denominator) for one in numerators]
    assert parts <= denominator
    assert [Fraction(round(one * parts), parts) for one in price] == pytest.approx(exact, abs=module.ROUNDING)


def test_prices_of_a_size_that_nobody_wants_are_raised_as_far_as_the_cuts_leave_room():
    supply = Supply(
        np.array([[2, 0, 0], [1, 1, 0], [0, 0, 1]]), np.zeros(3, dtype=np.int64), np.full(3, 10.0), np.array([np.inf])
    )
    assert module._raised(np.array([5, 1, 1]), np.array([1, 2]), supply, np.full(3, 10)).tolist() == [5, 5, 10]


def test_sizes_that_nobody_wants_stay_as_dear_as_they_are_where_the_wanted_one_costs_a_whole_step():
    """Of a price that is wanted one part of a step is enough, which is more than the other sizes may cost."""
    demands = Demands(np.array([[1.0, 1e-6, 1e-6]]), np.array([1]), np.array([NO_LIMIT]))
    supply = Supply(np.diag([3, 3, 3]), np.arange(3), np.array([3.0, 1.0, 1.0]), np.full(3, np.inf))
    price = np.array([1.0, 0.3141592, 0.2718281])
    listed = listed_covers(demands, price, np.array([0.01]))
    prices = whole_prices(price, supply, np.array([3, 1, 1]), listed.covers)
    assert prices.in_steps[0] == 1.0
    assert (price * (1 - 1e-4) <= prices.in_steps).all()
    assert (prices.in_steps[1:] <= 1 / 3).all()


def test_sums_beyond_64_bits_are_left_to_floats(monkeypatch):
    demands = Demands(np.array([[0.3, 0.7]]), np.array([1]), np.array([NO_LIMIT]))
    supply = Supply(np.array([[2, 0], [0, 1]]), np.zeros(2, dtype=np.int64), np.full(2, 4.0), np.array([np.inf]))
    listed = listed_covers(demands, np.array([1.0, 2.0]), np.array([0.01]))
    stated = np.array([1.0, 2.0]), supply, np.array([4, 4]), listed.covers
    assert whole_prices(*stated) is not None
    monkeypatch.setattr(module, "MOST", 15)
    assert whole_prices(*stated) is None


@pytest.mark.parametrize(("unlisted", "needed"), [([], 3 * 4 + 8), ([2], 3 * 4 + 5)])
def test_who_has_unlisted_covers_needs_no_more_than_a_fluid(unlisted, needed):
    """Two groups, of three and of one; of that one the first size carries three quarters."""
    covers = SimpleNamespace(
        counts=np.array([[1, 0], [0, 1], [2, 0]]),
        first=np.array([0, 2]),
        owner=np.array([0, 0, 1]),
        members=np.array([3, 1]),
    )
    listed = SimpleNamespace(
        covers=covers,
        unlisted=np.array(unlisted),
        groups_unlisted=np.array([1] * len(unlisted), dtype=np.int64),
        part=np.array([[0.75, 1.0]] * len(unlisted)),
    )
    prices = SimpleNamespace(price=np.array([4, 7]), rent=np.array([0, 3]))
    proven = proven_covers(prices, SimpleNamespace(available=np.array([np.inf, 2.0])), listed)
    assert (proven.needed, proven.bound, proven.reduced.tolist()) == (needed, needed - 2 * 3, [0, 3, 0])
    assert proven.covers is covers
