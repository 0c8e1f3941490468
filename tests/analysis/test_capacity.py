"""What a fixed fleet can carry: the greatest common growth of all rates, and what to leave out."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.igniter_instances import table_3
from problems.instances import problem_of, problems, random_problem, second_type, two_type_problem

from sliceplan.solver.analysis.grown_rates import scaled
from sliceplan.solver.api import headroom, shed, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.registry import planner_named
from sliceplan.solver.wording.summary import plan_summary

WITH_PLAN = (Status.OPTIMAL, Status.FEASIBLE)


def with_count(problem, count):
    (entry,) = problem.fleet
    return problem.model_copy(update={"fleet": (entry.model_copy(update={"count": count}),)})


@settings(max_examples=6, deadline=None)
@given(problems(max_workloads=4), st.integers(1, 6))
def test_rates_fit_at_the_factor_and_not_at_its_proven_limit(problem, count):
    """The other exact planner, which shares no modelling code, judges both; its solver may miss a rate by 1e-5."""
    beyond = 1.0001
    problem = with_count(problem, count)
    found = headroom(problem)
    if found.report.factor is None:
        nothing = scaled(problem, beyond * found.report.factor_limit)
        assert solve(nothing, "exact-pulp").status is Status.INFEASIBLE
        return
    assert found.plan.status in WITH_PLAN
    assert solve(scaled(problem, found.report.factor), "exact-pulp").status in WITH_PLAN
    assert found.report.factor_limit == pytest.approx(found.report.factor, rel=2e-5)
    too_much = scaled(problem, beyond * found.report.factor_limit)
    assert solve(too_much, "exact-pulp").status is Status.INFEASIBLE


def test_a_fleet_that_is_too_small_serves_a_part():
    problem = with_count(random_problem(30, seed=1), 5)
    found = headroom(problem)
    assert 0 < found.report.factor < 1
    assert found.plan.gpus_used <= 5


def test_a_thousand_services_on_two_types_leave_no_more_than_a_thousandth_open():
    problem = two_type_problem(1000, seed=2)
    found = headroom(problem, profiles=[*shipped_profiles(), *second_type()], time_limit_s=120)
    assert found.report.factor > 1
    assert found.report.factor_limit is None or found.report.factor_limit < 1.001 * found.report.factor


def test_a_limit_on_replicas_ends_the_growth_whatever_the_gpus():
    workloads = [
        {"model": "bert", "rate_rps": 50, "slo_ms": 300, "max_replicas": 1},
        {"model": "vgg16", "rate_rps": 10, "slo_ms": 300},
    ]
    report = headroom(problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 100}])).report
    assert report.first_short == "w0"


def test_gpus_under_mps_have_headroom_too():
    problem = table_3(mps_rules="igniter")
    found = headroom(with_count(problem, 6), time_limit_s=20)
    assert found.report.factor >= 1
    assert found.report.factor_limit < 1.2
    assert found.plan.gpus_used <= 6


def test_without_counts_there_is_no_limit():
    with pytest.raises(InputError, match=r"fleet\[0\].count is missing: as many A100-80GB"):
        headroom(random_problem(3, seed=1))


@settings(max_examples=8, deadline=None)
@given(
    problems(max_workloads=4),
    st.integers(1, 2),
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
)
def test_no_choice_of_services_to_leave_out_loses_less(problem, count, values):
    workloads = tuple(
        workload.model_copy(update={"value": float(value)})
        for workload, value in zip(problem.workloads, values, strict=False)
    )
    problem = with_count(problem.model_copy(update={"workloads": workloads}), count)
    found = shed(problem)
    assert found.report.value_lost == pytest.approx(found.report.least_value_lost)
    left_out = {one.workload for one in found.report.shed}
    assert found.plan is None or found.plan.status in WITH_PLAN
    for size in range(len(workloads)):
        for gone in combinations(workloads, size):
            if sum(workload.worth for workload in gone) < found.report.value_lost - 1e-9:
                rest = tuple(workload for workload in workloads if workload not in gone)
                assert solve(problem.model_copy(update={"workloads": rest}), "exact-pulp").status is Status.INFEASIBLE
    assert len(left_out) == len(found.report.shed)


def test_services_of_value_nothing_are_the_first_to_go():
    workloads = [{"model": "vgg16", "rate_rps": 940, "slo_ms": 200, "value": value} for value in (3, 0, 7)]
    problem = problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 1}])
    report = shed(problem).report
    assert {one.workload for one in report.shed} == {"w0", "w1"}
    assert report.value_lost == report.least_value_lost == 3


def test_a_service_that_nothing_can_serve_is_left_out_with_its_value():
    workloads = [
        {"model": "bert", "rate_rps": 5, "slo_ms": 1, "value": 4},
        {"model": "bert", "rate_rps": 5, "slo_ms": 300},
    ]
    found = shed(problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 1}]))
    assert [(one.workload, one.value) for one in found.report.shed] == [("w0", 4.0)]
    assert found.report.least_value_lost == 4
    assert found.plan.status is Status.OPTIMAL


def test_failure_of_the_sets_that_were_tried_proves_nothing_where_rates_may_be_split():
    """Only the bound that holds for every split may call a factor too much."""
    problem = scaled(with_count(table_3(), 5), 1.05)
    plan = planner_named("exact").plan(resolve(problem, shipped_profiles()), time_limit_s=10)
    assert plan.status is Status.NONE_FOUND
    assert plan.search.stopped == "gap_left"
    assert "not proven" in plan_summary(plan, None)
    # The limit is the fluid bound's, well above what a plan was found for.
    limits = headroom(with_count(table_3(), 5), time_limit_s=3).report
    assert limits.factor_limit is None or limits.factor_limit > 1.05


def test_failure_of_all_sets_is_a_proof_where_nothing_may_be_split():
    assert solve(with_count(table_3(mps_rules="igniter"), 5)).search.stopped == "infeasible"
