"""Prices, and rates, so near to others that a solver's tolerances hide the difference: what is proven is still so."""

from fractions import Fraction
from itertools import product
from math import ceil

import pulp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems.near_rates import COUNTS, NEAR, PROFILES, RPS, WHOLE_RATES, least_steps, problem_with

from sliceplan.solver.api import compare, solve
from sliceplan.solver.exact.cross_check import interval_packing
from sliceplan.solver.exact.cross_check.cheaper_fleets import cheaper_fleets, in_steps
from sliceplan.solver.model.plan import Status


def cost_of(plan, prices):
    return sum(Fraction(f"{prices[list(RPS).index(gpu.gpu)]:.12g}") for gpu in plan.gpus)


@st.composite
def near_prices(draw):
    """Draws two prices of which some multiples differ by a 1e-3rd to a 1e-12th of them."""
    price = draw(st.integers(40, 400)) / 100
    factor = draw(st.sampled_from([1.0, 2.0, 0.5, 0.75, 1.5]))
    near = 1 + draw(st.sampled_from([-1, 1])) * 10.0 ** -draw(st.integers(3, 12))
    return price, float(f"{price * factor * near:.12g}")


D5 = ((3.06, 1.530001), (45, 46, 66, 94, 18))


@settings(max_examples=8, deadline=None)
@given(near_prices(), WHOLE_RATES, NEAR, COUNTS)
@example((3.06, 1.530001), [45, 66], 0.0, (None, None))
@example((3.06, 1.530000001), [75, 80], 0.0, (None, None))
@example((2.0, 0.99999999999), [75, 80], 3e-8, (1, None))
@example((0.69, 0.345000000345), [44], 0.0, (None, None))
@example((3.06, 9.0), [150], 3e-8, (None, 0))
def test_what_is_proven_is_the_cheapest_of_an_enumeration(prices, whole, near, counts):
    """Property: `exact-pulp` proves the oracle's cost to the last step, `exact` to a billionth; and nothing else."""
    rates = [rate * (1 + near) for rate in whole]
    problem = problem_with(prices, rates, counts)
    least, step = least_steps(prices, [ceil(rate * (1 - 1e-9)) for rate in rates], counts)
    compared = compare(problem, ["exact", "exact-pulp", "migserving-greedy"], profiles=PROFILES)
    assert compared.is_sound, (compared.failures, compared.disputes)
    exact, plan, _ = compared.plans
    if least is None:
        assert exact.status is plan.status is Status.INFEASIBLE
        return
    assert plan.status is Status.OPTIMAL
    assert cost_of(plan, prices) == least * step
    cost = float(least * step)
    assert cost * (1 - 1e-9) <= exact.cost_per_hour
    assert exact.bound.cost_per_hour <= cost * (1 + 1e-9)
    if exact.status is Status.OPTIMAL:
        assert exact.cost_per_hour <= cost * (1 + 1e-9)


def test_five_services_whose_cheapest_mix_is_2e_7_cheaper_than_the_next():
    """CBC drops what is not better by 1e-5: it called $12.240004/h proven, and $12.24/h is there."""
    prices, rates = D5
    plan = solve(problem_with(prices, rates), "exact-pulp", profiles=PROFILES)
    assert plan.status is Status.OPTIMAL
    assert cost_of(plan, prices) == Fraction("12.24")
    assert {gpu.gpu for gpu in plan.gpus} == {"A100-80GB"}


def test_prices_that_differ_beyond_12_digits_are_the_same():
    assert in_steps([1.53, 1.5300000000001]) == ([1, 1], Fraction(153, 100))
    assert in_steps([2.401 * 1.0000000000000002, 1.2005]) == ([2, 1], Fraction(12005, 10000))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(3, 12), st.one_of(st.none(), st.integers(0, 4))), min_size=1, max_size=3),
    st.integers(0, 20),
    st.integers(1, 20),
)
def test_every_fleet_between_two_costs_is_part_of_one_that_is_listed(types, least, more):
    """Property: against all fleets; and none that is listed costs as much as the upper limit."""
    prices, available = [price for price, _ in types], [count for _, count in types]
    below = least + more
    listed = cheaper_fleets(prices, available, least=least, below=below)
    most = [below // price if count is None else count for price, count in types]

    def cost(fleet):
        return sum(count * price for count, price in zip(fleet, prices, strict=True))

    for fleet in product(*(range(count + 1) for count in most)):
        if least <= cost(fleet) < below:
            assert any(all(a <= b for a, b in zip(fleet, whole, strict=True)) for whole in listed), fleet
    for fleet in listed:
        assert least <= cost(fleet) < below
        assert all(count is None or used <= count for used, count in zip(fleet, available, strict=True))


def test_too_many_fleets_between_are_not_listed():
    assert cheaper_fleets([1_000_003, 1_000_001, 1_000_000], [None] * 3, least=10**6, below=10**9) is None


def test_too_many_fleets_between_leave_an_honest_gap(monkeypatch):
    monkeypatch.setattr(interval_packing, "cheaper_fleets", lambda *_, **__: None)
    prices, rates = D5
    plan = solve(problem_with(prices, rates), "exact-pulp", profiles=PROFILES)
    assert (plan.status, plan.search.stopped) == (Status.FEASIBLE, "gap_left")
    assert plan.bound.cost_per_hour <= 12.24 <= plan.cost_per_hour
    assert 0 < plan.gap < 1e-5


@pytest.mark.parametrize(
    ("ends", "stopped"),
    [
        ([pulp.LpSolutionIntegerFeasible], "time_limit"),
        ([pulp.LpSolutionNoSolutionFound], "time_limit"),
        ([pulp.LpSolutionInfeasible], "time_limit"),
        ([pulp.LpSolutionOptimal, pulp.LpSolutionNoSolutionFound], "time_limit"),
        ([pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible], "time_limit"),
    ],
)
def test_an_end_of_cbc_without_a_proof_proves_nothing(monkeypatch, ends, stopped):
    """The first program is that of the cheapest plan, the next ones rule out cheaper fleets."""
    run, left = interval_packing._run_cbc, list(ends)

    def ending(program, time_limit_s):
        run(program, time_limit_s)
        return left.pop(0) if left else pulp.LpSolutionNoSolutionFound

    monkeypatch.setattr(interval_packing, "_run_cbc", ending)
    prices, rates = D5
    plan = solve(problem_with(prices, rates), "exact-pulp", profiles=PROFILES)
    assert plan.search.stopped == stopped
    assert plan.status in (Status.FEASIBLE, Status.TIMEOUT)
    assert plan.bound.cost_per_hour is None or plan.bound.cost_per_hour <= 12.24


@pytest.mark.parametrize(
    "end", [pulp.LpSolutionNoSolutionFound, pulp.LpSolutionIntegerFeasible, pulp.LpSolutionInfeasible]
)
def test_an_unfinished_count_of_missing_gpus_proves_nothing(monkeypatch, end):
    monkeypatch.setattr(interval_packing, "_run_cbc", lambda *_: end)
    prices, rates = D5
    plan = solve(problem_with(prices, rates, (1, 1)), "exact-pulp", profiles=PROFILES, time_limit_s=1)
    assert plan.status is Status.TIMEOUT


def test_a_solution_that_does_not_cost_what_cbc_says_proves_nothing(monkeypatch):
    run = interval_packing._run_cbc

    def wrong(program, time_limit_s):
        status = run(program, time_limit_s)
        program.setObjective(program.objective + 1)
        return status

    monkeypatch.setattr(interval_packing, "_run_cbc", wrong)
    prices, rates = D5
    plan = solve(problem_with(prices, rates), "exact-pulp", profiles=PROFILES)
    assert (plan.status, plan.bound.cost_per_hour) == (Status.FEASIBLE, None)


def test_an_end_that_cbc_may_not_have_is_an_error(monkeypatch):
    def unbounded(program, _):
        program.sol_status = pulp.LpSolutionUnbounded

    monkeypatch.setattr(pulp.LpProblem, "solve", unbounded)
    prices, rates = D5
    with pytest.raises(RuntimeError, match="CBC ended with Solution is Unbounded"):
        solve(problem_with(prices, rates), "exact-pulp", profiles=PROFILES)


@pytest.mark.parametrize(("unit", "unsure"), [(1, 0), (1000, 1)])
def test_a_proof_in_rounded_units_is_one_unit_unsure_and_one_in_steps_is_not(unit, unsure):
    assert interval_packing._Prices([3000, 5000], Fraction(1, 100), unit).unsure == unsure
