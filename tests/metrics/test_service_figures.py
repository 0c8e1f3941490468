"""What a plan gives to each service."""

import pytest
from problems.instances import random_problem

from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.metrics.service_figures import service_figures


def test_partitions_of_a_service_are_added_up_and_the_slowest_counts():
    problem = random_problem(15, 3)
    plan = solve(problem)
    by_name = {one.name: one for one in service_figures(problem, plan)}
    assert list(by_name) == [workload.name for workload in problem.workloads]
    for workload in problem.workloads:
        served = [
            one for gpu in plan.gpus for part in gpu.partitions for one in part.serves if one.workload == workload.name
        ]
        figures = by_name[workload.name]
        assert figures.capacity_rps == pytest.approx(sum(one.capacity_rps for one in served))
        assert figures.required_rps == pytest.approx(sum(one.rate_rps for one in served))
        assert figures.slowest.latency_ms == max(one.latency_ms for one in served)
        assert figures.limit_ms == workload.slo_ms * 0.5
        assert 0 < figures.used <= 1 + 1e-9
        assert figures.load <= 1 + 1e-9
        assert sum(figures.places.values()) == len(served)
        assert not figures.misses


def test_misses_are_those_of_the_plan():
    problem = example_problems()["igniter"]
    plan = solve(problem, "ffd")
    figures = service_figures(problem, plan)
    assert {one.name for one in figures if one.misses} == {one.workload for one in plan.violations}
    assert max(one.excess for one in figures) == max(one.excess for one in plan.violations)
    assert any("% of V100" in kind for one in figures for kind in one.places)


def test_a_service_without_a_place_has_no_figures():
    problem = random_problem(3, 1)
    plan = solve(problem).model_copy(update={"gpus": ()})
    assert [(one.slowest, one.load, one.used, one.gpus) for one in service_figures(problem, plan)] == [
        (None, None, None, ())
    ] * 3
