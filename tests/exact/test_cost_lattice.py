"""Costs rise in steps: bounds are rounded to the next, and second goals stay on the step that the first one reached."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems.instances import problem_of

from sliceplan.solver import api
from sliceplan.solver.api import replan
from sliceplan.solver.exact.cost_lattice import CHEAPEST, LARGEST_MULTIPLE, MOST_STEPS, NO_GAP, ROUNDING, lattice_of
from sliceplan.solver.exact.fleet.decomposition import solve_by_prices
from sliceplan.solver.exact.mig.cutting_stock import solve_cutting_stock
from sliceplan.solver.exact.proof import ended, is_proof
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import GREATEST_PRICE, GREATEST_PRICE_RATIO, LEAST_PRICE, Problem
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance
from sliceplan.solver.performance.resolve import resolve

A, B = "A100-80GB", "H100-80GB-SXM"
PRICES = st.one_of(
    st.integers(1, 1200).map(lambda cents: cents / 100),
    st.integers(1, 12_000_000).map(lambda micros: micros / 1e6),
    st.floats(LEAST_PRICE, GREATEST_PRICE),
    st.sampled_from([LEAST_PRICE, GREATEST_PRICE, 3.06, 3.060001, 1.53, 2.4010000000000002]),
)


def exact(price):
    """Returns a price as it is read: its first 12 digits."""
    return Fraction(f"{price:.12g}")


@settings(deadline=None)
@given(st.lists(PRICES, min_size=1, max_size=3), st.floats(0, 1))
@example([2.4010000000000002, 3.43], 0.5)
@example([3.06, 1.530001], 0.999)
def test_between_a_bound_and_the_next_cost_no_cost_lies(prices, part):
    names = [f"g{k}" for k in range(len(prices))]
    steps = lattice_of(dict(zip(names, prices, strict=True)))
    costs = sorted(
        sum((n * exact(price) for n, price in zip(counts, prices, strict=True)), Fraction(0))
        for counts in product(range(4), repeat=len(prices))
    )
    for one, other in pairwise(costs):
        bound = float(one + Fraction(part) * (other - one))
        found = steps.next_cost(bound)
        assert found >= bound * (1 - NO_GAP) - ROUNDING * steps.step
        assert found <= float(other) * (1 + NO_GAP)
        assert steps.next_cost(float(other)) == pytest.approx(float(other), rel=NO_GAP)
        if one < other:
            assert float(one) * (1 - NO_GAP) <= steps.cost_below(float(other)) < float(other)


@settings(deadline=None)
@given(st.lists(PRICES, min_size=1, max_size=3), st.lists(st.integers(0, 50), min_size=3, max_size=3), st.data())
def test_a_limit_of_a_second_goal_keeps_dearer_gpus_out(prices, counts, data):
    names = [f"g{k}" for k in range(len(prices))]
    steps = lattice_of(dict(zip(names, prices, strict=True)))
    others = data.draw(st.lists(st.integers(0, 50), min_size=3, max_size=3))

    def costs(numbers):
        numbers = numbers[: len(prices)]
        paid = sum((n * exact(price) for n, price in zip(numbers, prices, strict=True)), Fraction(0))
        return paid, sum(n * steps.coefficient[name] for n, name in zip(numbers, names, strict=True))

    (least, in_units), (paid, other) = costs(counts), costs(others)
    assert in_units <= steps.no_more_than(in_units)
    if paid > least and (steps.whole or paid > least * (1 + Fraction(NO_GAP))):
        assert other > steps.no_more_than(in_units)
    elif paid <= least:
        assert other <= steps.no_more_than(in_units)


@settings(deadline=None)
@given(st.lists(PRICES, min_size=1, max_size=3))
def test_a_solver_is_handed_steps_where_they_are_not_too_many(prices):
    names = [f"g{k}" for k in range(len(prices))]
    steps = lattice_of(dict(zip(names, prices, strict=True)))
    for name, price in zip(names, prices, strict=True):
        assert steps.coefficient[name] * steps.unit == pytest.approx(price, rel=1e-11)
        if steps.whole:
            assert steps.coefficient[name].is_integer()
    assert steps.whole == (max(float(exact(price)) / steps.step for price in prices) <= LARGEST_MULTIPLE)
    if not steps.whole:  # nothing of a bound is rounded up that the solver's tolerance may have added
        assert steps.absolute_gap is None
        assert min(steps.coefficient.values()) == pytest.approx(CHEAPEST)
        assert steps.dual_bound(12345.678) == steps.unit * 12345.678
    assert steps.next_cost(2 * MOST_STEPS * steps.step) == 2 * MOST_STEPS * steps.step
    assert steps.cost_below(2 * MOST_STEPS * steps.step) < 2 * MOST_STEPS * steps.step


@pytest.mark.parametrize("excess", [1e-2, 1e-6, 1e-8])
def test_a_cost_above_the_bound_is_no_proof(excess):
    assert not is_proof(7.5 * (1 + excess), 7.5)
    assert not is_proof(7.5e-6 * (1 + excess), 7.5e-6)
    assert ended(7.5 * (1 + excess), 7.5, gap=0.0, limited=False) == "gap_left"
    assert ended(7.5 * (1 + excess), 7.5, gap=0.0, limited=True) == "time_limit"


def test_a_cost_at_the_bound_is_one_and_what_is_not_known_is_none():
    assert is_proof(7.5, 7.5)
    assert is_proof(0.1 + 0.2, 0.3)
    assert not is_proof(None, 7.5)
    assert not is_proof(7.5, None)
    assert ended(7.5, 7.5, gap=0.0, limited=True) == "proved"
    assert ended(None, 7.5, gap=0.5, limited=False) == "gap_left"
    assert ended(7.5, None, gap=0.5, limited=True) == "time_limit"


def test_a_gap_that_was_asked_for_ends_a_search():
    assert ended(7.6, 7.5, gap=0.02, limited=True) == "gap_reached"
    assert ended(7.7, 7.5, gap=0.02, limited=True) == "time_limit"
    assert ended(7.5, 7.5, gap=0.02, limited=True) == "proved"


def large_on_a_or_small_on_b(dearer, **workload):
    """Returns a problem whose service takes all of an A, or a small instance of a B that costs a bit more."""
    provenance = Provenance(source="made up", method="test")

    def profile(gpu, mig_profile):
        point = MeasuredPoint(mig_profile=mig_profile, batch=1, processes=1, latency_ms=10, throughput_rps=100)
        return Profile(model="m", gpu=gpu, provenance=provenance, points=(point,))

    fleet = [{"gpu": A, "price_per_hour": 9.0}, {"gpu": B, "price_per_hour": dearer}]
    problem = problem_of([{"model": "m", "rate_rps": 50, "slo_ms": 100, **workload}], fleet=fleet)
    return problem, [profile(A, "7g.80gb"), profile(B, "1g.10gb")]


@pytest.mark.parametrize("dearer", [9.000004, 9.0000001])
def test_fewer_slices_are_not_bought_with_a_dearer_gpu(dearer):
    """The second program took any plan of up to a millionth more, and then the bound was missed: "time_limit"."""
    problem, profiles = large_on_a_or_small_on_b(dearer)
    resolved = resolve(problem, profiles)
    for answer in (solve_cutting_stock(resolved, time_limit_s=10), solve_by_prices(resolved, time_limit_s=10).answer):
        assert answer.stopped == "proved"
        assert [(pattern.gpu, times) for pattern, times in answer.patterns] == [(A, 1)]
        assert answer.cost_bound == pytest.approx(9.0, rel=NO_GAP)


def test_fewer_moves_are_not_bought_with_a_dearer_gpu():
    problem, profiles = large_on_a_or_small_on_b(9.0000004)
    running = api.solve(problem.model_copy(update={"fleet": problem.fleet[1:]}), profiles=profiles)
    assert [gpu.gpu for gpu in running.gpus] == [B]
    plan = replan(problem, running, profiles=profiles)[0]
    assert [gpu.gpu for gpu in plan.gpus] == [A]


def test_prices_too_far_apart_are_refused_with_what_would_be_right():
    problem, profiles = large_on_a_or_small_on_b(9.0 * GREATEST_PRICE_RATIO * 1.01 / 100)
    cheap = problem.model_dump(mode="json")
    cheap["fleet"][0]["price_per_hour"] = 0.09
    with pytest.raises(
        InputError, match=r"fleet\[1\].price_per_hour is 90900 USD, more than 1,000,000 times the 0.09 "
    ):
        resolve(Problem.model_validate(cheap), profiles)


def test_prices_at_the_ends_of_the_range_are_planned():
    problem, profiles = large_on_a_or_small_on_b(9.0)
    for price, other in ((LEAST_PRICE, LEAST_PRICE * GREATEST_PRICE_RATIO), (GREATEST_PRICE, 1.0)):
        data = problem.model_dump(mode="json")
        data["fleet"][0]["price_per_hour"], data["fleet"][1]["price_per_hour"] = price, other
        plan = api.solve(Problem.model_validate(data), profiles=profiles)
        assert plan.search.stopped == "proved"
        assert plan.cost_per_hour == min(price, other)


@pytest.mark.parametrize(
    ("bound", "next_cost", "below"),
    [
        (7.2, 7.5, 7.0),
        (7.5, 7.5, 7.0),
        (7.5 + 1e-8, 7.5, 7.0),
        (7.5 + 1e-5, 8.0, 7.5),
        (0.0, 0.0, -0.5),
        (5e7, 5e7, 5e7 - 0.5),
        (5e7 - 0.3, 5e7, 5e7 - 0.5),
        # Beyond a hundred million steps nothing is rounded.
        (5e7 + 0.2, 5e7 + 0.2, (5e7 + 0.2) * (1 - NO_GAP)),
        (1e12, 1e12, 1e12 * (1 - NO_GAP)),
    ],
)
def test_costs_of_not_too_many_steps_are_whole_steps(bound, next_cost, below):
    steps = lattice_of({"a": 1.5, "b": 2.5, "c": 2.0})
    assert (steps.step, steps.unit, steps.whole) == (0.5, 0.5, True)
    assert steps.next_cost(bound) == pytest.approx(next_cost, rel=1e-15, abs=1e-12)
    assert steps.cost_below(bound) == pytest.approx(below, rel=1e-15, abs=1e-12)


def test_a_solver_may_stop_within_a_step_of_its_bound_and_what_it_is_handed_are_whole_numbers():
    """Costs that are whole numbers differ by 1: a solution nearer to the bound than that is the best."""
    steps = lattice_of({"a": 0.3, "b": 0.7})
    assert 0.9 < steps.absolute_gap < 1
    assert steps.in_units(np.array([0.3, 0.7, 2.1])) == [3.0, 7.0, 21.0]
    assert all(one.is_integer() for one in steps.in_units(np.array([0.1 * times for times in range(99)])))
    # A little less than a whole number is that one, by a solver's tolerances; and so is one a little above it.
    assert [steps.dual_bound(one) for one in (7.0, 7.0005, 6.5, 7.01)] == pytest.approx([0.7, 0.7, 0.7, 0.8])
    # Too many steps: prices as they are, of which the cheapest is a certain number, and no gap at all.
    other = lattice_of({"a": 0.3, "b": 0.700000000001})
    assert (other.whole, other.absolute_gap) == (False, None)
    assert other.in_units(np.array([0.3, 0.45])) == pytest.approx([CHEAPEST, 1.5 * CHEAPEST])
    assert other.dual_bound(500.0) == pytest.approx(0.15)
