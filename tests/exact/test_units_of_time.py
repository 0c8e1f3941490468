"""
Property: the unit of time changes no cost, no bound and no factor.

Services of a request in an hour are planned as others of a thousand in a second whose batches are as much faster. The
unit is a power of two, so that all figures are the same to the last bit but for their exponents.
"""

import pytest
from problems.instances import problem_of, random_problem

from sliceplan.solver import api
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem

UNIT = 2.0**16


def profiles_in(unit):
    """Returns the shipped profiles with every batch taking so many times as long."""
    of = {}
    for one in shipped_profiles():
        points = tuple(
            point.model_copy(
                update={"latency_ms": point.latency_ms * unit, "throughput_rps": point.throughput_rps / unit}
            )
            for point in one.points
        )
        curves = tuple(
            curve.model_copy(update={"floor_ms": curve.floor_ms * unit, "per_item_ms": curve.per_item_ms * unit})
            for curve in one.curves
        )
        of[one.model, one.gpu, one.cpu] = one.model_copy(
            update={"points": points, "curves": curves, "interference": None, "neighbours": None}
        )
    return list(of.values())


def in_unit(problem: Problem, unit):
    workloads = tuple(
        one.model_copy(update={"rate_rps": one.rate_rps / unit, "slo_ms": one.slo_ms * unit})
        for one in problem.workloads
    )
    return problem.model_copy(update={"workloads": workloads})


def of_plan(plan):
    return plan.cost_per_hour, plan.bound.cost_per_hour, plan.search.stopped, len(plan.gpus)


def with_count(problem, count):
    fleet = tuple(entry.model_copy(update={"count": count}) for entry in problem.fleet)
    return problem.model_copy(update={"fleet": fleet})


def with_settings(problem, **settings):
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=settings)})


SERVICES = [
    {"model": "resnet50", "rate_rps": 900, "slo_ms": 150},
    {"model": "bert", "rate_rps": 40, "slo_ms": 400},
    {"model": "vgg16", "rate_rps": 160, "slo_ms": 300},
]
CASES = {
    "mig": random_problem(7, 3),
    "few": with_count(random_problem(7, 3), 2),
    "spares": with_settings(random_problem(2, 4), spare_services=1, spare_rate=0.5),
    "turns": problem_of(SERVICES, turns="fixed"),
    "assembly": with_settings(random_problem(5, 6), latency="assembly"),
    "percentile": with_settings(random_problem(3, 6), latency="percentile"),
}


@pytest.mark.parametrize("case", CASES)
def test_plans_and_their_bounds_are_the_same_in_any_unit(case):
    planner = "exact-turns" if case == "turns" else "exact"
    plain = of_plan(api.solve(CASES[case], planner, profiles=profiles_in(1.0)))
    assert plain[2] != "time_limit"
    found = of_plan(api.solve(in_unit(CASES[case], UNIT), planner, profiles=profiles_in(UNIT)))
    assert found[:2] == pytest.approx(plain[:2])
    assert found[2:] == plain[2:]


def test_growth_is_the_same_in_any_unit():
    problem = with_count(random_problem(2, 5), 1)
    plain = api.headroom(problem, profiles=profiles_in(1.0)).report
    found = api.headroom(in_unit(problem, UNIT), profiles=profiles_in(UNIT)).report
    assert found.factor == pytest.approx(plain.factor, rel=3e-5)
    assert found.factor_limit == pytest.approx(plain.factor_limit, rel=3e-5)


def test_capacity_is_as_much_less_as_time_is_longer():
    problem = with_settings(with_count(random_problem(2, 5), 2), objective="capacity")
    plain = api.solve(problem, profiles=profiles_in(1.0)).capacity
    found = api.solve(in_unit(problem, UNIT), profiles=profiles_in(UNIT)).capacity
    assert found.limit * UNIT == pytest.approx(plain.limit)
    assert found.gap == pytest.approx(plain.gap, abs=1e-9)
