"""Rates that HiGHS takes for met though they are short by its tolerances: no plan and no proof rests on them."""

from dataclasses import replace
from itertools import product
from math import ceil
from random import Random

import pytest
from hypothesis import example, given, settings
from ortools.math_opt.python import mathopt
from problems.near_rates import COUNTS, NEAR, PROFILES, WHOLE_RATES, least_steps, problem_with

from sliceplan.solver.api import replan, shed, solve
from sliceplan.solver.exact.backends.highs import run_highs
from sliceplan.solver.exact.met_rates import is_short, solved_with_rates_met
from sliceplan.solver.exact.mig.cutting_stock import solve_cutting_stock
from sliceplan.solver.exact.shedding.most_served import most_served
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve

PRICES = (3.06, 1.53)
JUST_MORE = 1 + 1e-8


def carried(problem, plan):
    """Returns what the partitions of each service carry together, as a part of its rate."""
    return {
        one.name: sum(
            served.capacity_rps
            for gpu in plan.gpus
            for partition in gpu.partitions
            for served in partition.serves
            if served.workload == one.name
        )
        / one.rate_rps
        for one in problem.workloads
    }


def assert_met(problem, plan):
    assert plan.status is Status.OPTIMAL
    assert min(carried(problem, plan).values()) >= 1 - 1e-9


@settings(max_examples=10, deadline=None)
@given(WHOLE_RATES, NEAR, COUNTS)
@example([150], 3e-8, (None, 0))
@example([75, 45], 1e-8, (None, None))
@example([75], 5e-8, (1, 0))
def test_the_program_alone_proves_what_an_enumeration_finds(whole, near, counts):
    """Property: a plan is as cheap as the oracle's cheapest, which is short of nothing; or there is none."""
    rates = [rate * (1 + near) for rate in whole]
    least, step = least_steps(PRICES, [ceil(rate * (1 - 1e-9)) for rate in rates], counts)
    resolved = resolve(problem_with(PRICES, rates, counts), PROFILES)
    answer = solve_cutting_stock(resolved, time_limit_s=60)
    if least is None:
        assert answer.stopped == "infeasible"
        return
    assert answer.stopped == "proved"
    assert answer.cost_bound == pytest.approx(float(least * step))
    assert ((answer.partitions * resolved.capacity_rps).sum(axis=1) >= resolved.required_rps * (1 - 1e-9)).all()


@pytest.mark.parametrize("gpu_loss", [False, True])
def test_beside_free_partitions_every_rate_is_met(gpu_loss):
    problem = problem_with((3.06, 9), [150 * JUST_MORE])
    spares = {"spare_services": 1, "spare_rate": 0.5, "spare_gpu_loss": gpu_loss, "time_limit_s": 200}
    problem = problem.model_copy(update={"settings": problem.settings.model_copy(update=spares)})
    assert_met(problem, solve(problem, profiles=PROFILES))


@pytest.mark.parametrize(("whole", "counts"), [([75, 45], (2, 1)), ([150, 75], (None, None)), ([150], (3, 0))])
def test_replanning_meets_every_rate(whole, counts):
    """Once it had a plan that cost less than the bound by prices, which stopped it as a contradiction."""
    running = solve(problem_with(PRICES, [rate / 2 for rate in whole]), profiles=PROFILES)
    problem = problem_with(PRICES, [rate * JUST_MORE for rate in whole], counts)
    plan, report = replan(problem, running, profiles=PROFILES)
    assert_met(problem, plan)
    assert report.proven


@pytest.mark.parametrize(("rate", "served"), [(75, True), (75 * JUST_MORE, False)])
def test_a_service_that_is_just_too_large_is_not_served(rate, served):
    """One A100 carries 75 of it."""
    problem = problem_with(PRICES, [rate], (1, 0))
    found = most_served(resolve(problem, PROFILES), worth=[1.0], time_limit_s=60)
    assert (found.served, found.most) == ([served], float(served))
    assert shed(problem, profiles=PROFILES).report.value_lost == float(not served)


def test_what_is_short_is_excluded_with_all_that_has_no_more_of_anything():
    """Of a and b of 0.5 - 2e-8 each, two and one do: the solver's answer of one each is excluded."""
    model = mathopt.Model()
    a, b = (model.add_integer_variable(lb=0, ub=3) for _ in range(2))
    part = 0.5 - 2e-8
    row = model.add_linear_constraint(part * a + part * b >= 1)
    model.minimize(a + b)
    assert is_short(row, {a: 1.0, b: 1.0})
    assert not is_short(row, {a: 2.0000001, b: 1.0})
    solves = []

    def solve_once():
        solves.append(run_highs(model, 60, absolute_gap=None))
        return solves[-1]

    result = solved_with_rates_met(model, [row], solve_once)
    assert result.objective_value() == pytest.approx(3)
    assert solves[0].objective_value() == pytest.approx(2)


def test_a_rate_that_is_not_asked_for_is_not_short():
    """Where a service may be left out, its row asks for nothing then; where one is a fluid, no plan is made of it."""
    model = mathopt.Model()
    whole, served, fluid = model.add_integer_variable(lb=0, ub=1), model.add_binary_variable(), model.add_variable(lb=0)
    optional = model.add_linear_constraint(0.9 * whole - served >= 0)
    assert not is_short(optional, {whole: 0.0, served: 0.0})
    assert is_short(optional, {whole: 1.0, served: 1.0})
    assert not is_short(model.add_linear_constraint(0.9 * whole + fluid >= 1), {whole: 0.0, fluid: 0.0})


def test_a_search_that_ends_while_it_excludes_has_no_plan_and_keeps_its_bound():
    model = mathopt.Model()
    one = model.add_integer_variable(lb=0, ub=3)
    row = model.add_linear_constraint((1 - 5e-8) * one >= 1)
    model.minimize(one)
    ends = []

    def solve_once():
        result = run_highs(model, 60, absolute_gap=None)
        ends.append(result)
        return result if len(ends) == 1 else replace(result, solutions=[])

    result = solved_with_rates_met(model, [row], solve_once)
    assert len(ends) == 2
    assert not result.has_primal_feasible_solution()


def test_what_may_be_left_out_may_still_be_once_its_partitions_are_excluded():
    model = mathopt.Model()
    whole, served = model.add_integer_variable(lb=0, ub=1), model.add_binary_variable()
    row = model.add_linear_constraint((1 - 5e-8) * whole - served >= 0)
    model.maximize(served - 0.25 * whole)
    solves = []

    def solve_once():
        solves.append(run_highs(model, 60, absolute_gap=None))
        return solves[-1]

    result = solved_with_rates_met(model, [row], solve_once)
    assert solves[0].variable_values(served) > 0.5
    assert (result.variable_values(served), result.variable_values(whole)) == (0, 0)


@pytest.mark.parametrize("optional", [False, True])
def test_the_best_of_all_numbers_that_meet_every_row_is_found(optional):
    """Property: by trying all, of two rows that some numbers miss by less than a solver's tolerance."""
    short = 0
    for seed in range(8):
        draw = Random(seed)
        model, most = mathopt.Model(), [draw.randint(1, 3) for _ in range(3)]
        parts = [[draw.choice([1.0, 0.5, 1 / 3, 0.25]) * (1 - 5e-8) for _ in most] for _ in range(2)]
        costs, gain = [draw.randint(1, 4) for _ in most], draw.randint(5, 9)
        own = [model.add_integer_variable(lb=0, ub=ub) for ub in most]
        served = model.add_binary_variable() if optional else 1.0
        carried = [sum(a * v for a, v in zip(part, own, strict=True)) for part in parts]
        rows = [model.add_linear_constraint(one - served >= 0 if optional else one >= 1) for one in carried]
        model.minimize(sum(c * v for c, v in zip(costs, own, strict=True)) - gain * served)
        solves = []

        def solve_once(model=model, solves=solves):
            solves.append(run_highs(model, 60, absolute_gap=0.999))
            return solves[-1]

        found = solved_with_rates_met(model, rows, solve_once)
        meets = [
            sum(c * n for c, n in zip(costs, numbers, strict=True)) - gain * asked
            for asked in ((0, 1) if optional else (1,))
            for numbers in product(*(range(ub + 1) for ub in most))
            if all(sum(a * n for a, n in zip(part, numbers, strict=True)) >= asked * (1 - 1e-9) for part in parts)
        ]
        assert found.has_primal_feasible_solution() == bool(meets)
        if meets:
            assert found.objective_value() == pytest.approx(min(meets))
        short += len(solves) > 1
    assert short >= 2


@pytest.mark.parametrize(("missing", "short"), [(5e-10, False), (2e-9, True)])
def test_what_rounding_may_take_is_not_short(missing, short):
    """A part of what is asked for, whether the row says how much or a service that may be left out does."""
    model = mathopt.Model()
    whole, served = model.add_integer_variable(lb=0, ub=3), model.add_binary_variable()
    for asked in (1.0, 0.25, 40.0):
        part = asked * (1 - missing) / 2
        assert is_short(model.add_linear_constraint(part * whole >= asked), {whole: 2.0}) == short
        optional = model.add_linear_constraint(part * whole - asked * served >= 0)
        assert is_short(optional, {whole: 2.0, served: 1.0}) == short
