"""What services cost: the shares add up, and the prices say what small changes do."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from problems.cpu_draws import drawn_problem, small_cpus
from problems.instances import problem_of, problems, random_problem, scenario_problem, second_type, two_type_problem

from sliceplan.solver.api import compare, price, solve
from sliceplan.solver.exact.dual.lagrangian_data import known_prices
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve

SLICE = 3.430881 / 7


@settings(max_examples=20, deadline=None)
@given(problems())
def test_shares_add_up_to_the_cost_of_the_plan(problem):
    plan, report = price(problem)
    if report is None:
        assert plan.status is Status.INFEASIBLE
        return
    assert sum(service.usd_per_hour for service in report.services) == pytest.approx(plan.cost_per_hour)
    assert report.unattributed_usd_per_hour >= -1e-6
    assert [service.workload for service in report.services] == [workload.name for workload in problem.workloads]


def test_a_service_in_one_slice_pays_for_one_slice():
    plan, report = price(problem_of([{"model": "bert", "rate_rps": 70 / 7, "slo_ms": 300} for _ in range(7)]))
    assert plan.gpus_used == 1
    assert [service.usd_per_hour for service in report.services] == pytest.approx([SLICE] * 7)
    (million,) = {round(service.usd_per_million_requests, 9) for service in report.services}
    assert million == pytest.approx(SLICE / (10 * 3600) * 1e6)


def test_the_price_of_more_rate_is_what_many_such_services_add():
    """Hundreds of services: the difference of two optima, by service, is the price of the change."""
    workloads = [{"model": "bert", "rate_rps": 135, "slo_ms": 300} for _ in range(280)]
    plan, report = price(problem_of(workloads))
    more = solve(problem_of([{**workload, "rate_rps": 135 * 1.1} for workload in workloads]))
    (up,) = {service.rate_up_usd_per_hour for service in report.services}
    assert up > 0
    assert more.cost_per_hour - plan.cost_per_hour == pytest.approx(280 * up, abs=3.430881)


def test_a_tighter_slo_that_nothing_serves_has_no_price():
    problem = problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 30}], slo_fraction=0.5)
    tightest = next(
        slo for slo in range(10, 300) if solve(with_slo(problem, float(slo))).status is not Status.INFEASIBLE
    )
    _, report = price(with_slo(problem, float(tightest)))
    assert report.services[0].slo_down_usd_per_hour is None
    _, relaxed = price(with_slo(problem, 10.0 * tightest))
    assert relaxed.services[0].slo_down_usd_per_hour == 0.0


def with_slo(problem, slo_ms):
    return problem.model_copy(update={"workloads": (problem.workloads[0].model_copy(update={"slo_ms": slo_ms}),)})


def test_scarce_gpus_have_a_rent_that_their_partitions_carry():
    problem = two_type_problem(300, seed=1)
    plan = solve(problem, profiles=[*shipped_profiles(), *second_type()], time_limit_s=3)
    assert plan.prices.rents["A100-80GB"] < 0.01
    assert plan.prices.rents["H100-80GB-SXM"] > 0.1
    one = {(size.gpu, size.mig_profile): size.usd_per_hour for size in plan.prices.sizes}
    assert 7 * one["H100-80GB-SXM", "1g.10gb"] > 6.25


def test_the_comparison_holds_prices_and_costs_for_json():
    data = compare(example_problems()["demo"], ["exact", "parvagpu"]).as_data()
    exact, parvagpu = data["planners"]
    assert exact["prices"]["sizes"][0]["gpu"] == "A100-80GB"
    assert parvagpu["prices"] is None
    assert sum(service["usd_per_hour"] for service in data["services"]["services"]) == pytest.approx(
        exact["cost_per_hour"]
    )


@pytest.mark.parametrize("name", ["igniter", "mixed"])
def test_shares_of_gpus_under_mps_have_prices_and_services_share_the_cost(name):
    plan, report = price(example_problems()[name])
    assert plan.prices.shared["V100-SXM2-16GB"] == pytest.approx(3.06)
    assert sum(service.usd_per_hour for service in report.services) == pytest.approx(plan.cost_per_hour)
    marginal = sum(service.marginal_usd_per_hour for service in report.services)
    rents = sum(plan.prices.rents[entry.gpu] * (entry.count or 0) for entry in example_problems()[name].fleet)
    assert 0 < marginal - rents <= plan.bound.cost_per_hour + 1e-6
    assert all(service.rate_up_usd_per_hour >= 0 for service in report.services)


def test_a_service_on_either_kind_of_gpu_may_move_from_one_to_the_other():
    _, report = price(example_problems()["mixed"])
    moves = {service.workload: service.move_to for service in report.services}
    assert any("under MPS" in name for move in moves.values() for name in move or {})
    assert any(name.startswith("A100-80GB ") for move in moves.values() for name in move or {})


def test_an_earlier_plan_is_a_start_and_changes_no_result():
    problem = random_problem(200, seed=5)
    first = solve(problem)
    workloads = list(problem.workloads)
    workloads[3] = workloads[3].model_copy(update={"rate_rps": 2 * workloads[3].rate_rps})
    changed = problem.model_copy(update={"workloads": tuple(workloads)})
    assert solve(changed, start=first).cost_per_hour == solve(changed).cost_per_hour


def covers(plan):
    """Returns how often each service has a partition of each size."""
    return Counter(
        (served.workload, gpu.gpu, partition.mig_profile)
        for gpu in plan.gpus
        for partition in gpu.partitions
        for served in partition.serves
    )


def with_rate(problem, index, factor):
    """Returns the problem with the rate of one service changed."""
    workloads = list(problem.workloads)
    workloads[index] = workloads[index].model_copy(update={"rate_rps": factor * workloads[index].rate_rps})
    return problem.model_copy(update={"workloads": tuple(workloads)})


@pytest.mark.parametrize("seed", [1, 2])
def test_services_keep_the_partitions_of_an_earlier_plan_where_that_is_as_cheap(seed):
    problem = scenario_problem(600, seed)
    first = solve(problem)
    assert first.status is Status.OPTIMAL
    in_reverse = problem.model_copy(update={"workloads": problem.workloads[::-1]})
    assert covers(solve(in_reverse, start=first)) == covers(first)
    left, left_anew = 0, 0
    for index, factor in ((7, 1.5), (11, 0.5), (13, 4.0)):
        changed = with_rate(problem, index, factor)
        anew, kept = solve(changed), solve(changed, start=first)
        assert anew.status is kept.status is Status.OPTIMAL
        assert kept.cost_per_hour == anew.cost_per_hour
        left += (covers(first) - covers(kept)).total()
        left_anew += (covers(first) - covers(anew)).total()
    # Without the earlier plan the search takes other partitions, which cost the same.
    assert left < left_anew


def test_an_earlier_plan_gives_the_prices_to_start_from_for_gpus_under_mps_too():
    problem = example_problems()["igniter"]
    first = solve(problem)
    assert first.prices.shared
    resolved = resolve(problem, shipped_profiles())
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    prices = known_prices(resolved, first.prices, sizes)
    assert list(prices[len(sizes) :]) == list(first.prices.shared.values())
    assert solve(problem, start=first).cost_per_hour == first.cost_per_hour


def test_services_on_cores_pay_for_their_partitions():
    """Property: of drawn problems on CPUs, and on GPUs beside them."""
    reports = 0
    with small_cpus():
        for seed in range(12):
            plan, report = price(drawn_problem(seed), profiles=[])
            if report is not None:
                reports += 1
                assert sum(one.usd_per_hour for one in report.services) == pytest.approx(plan.cost_per_hour)
                assert report.unattributed_usd_per_hour >= -1e-6
                assert report.unattributed_usd_per_hour < plan.cost_per_hour
    assert reports > 3
