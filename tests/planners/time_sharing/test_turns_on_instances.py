"""Services that take turns on MIG instances, planned with a bound of all plans."""

from functools import cache

import pytest
from oracles.turns_on_instances import fewest_gpus
from problems.instance_turn_draws import turning_on_instances
from problems.instances import problem_of

from sliceplan.solver.api import check, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status

MOST = 4


@cache
def small_services(**settings):
    """Twelve services that need a part of a partition each."""
    workloads = [
        {"model": model, "rate_rps": rate, "slo_ms": slo_ms}
        for model in ("resnet50", "vgg16", "mobilenetv2")
        for rate, slo_ms in ((3, 200), (12, 250), (30, 400), (45, 150))
    ]
    return problem_of(workloads, **{"turns": "fixed", **settings})


def test_no_plan_that_there_is_costs_less_than_the_bound_and_no_plan_less_than_the_best():
    proven = 0
    for seed in range(24):
        problem, profiles = turning_on_instances(seed)
        plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=20)
        entry = problem.fleet[0]
        best = fewest_gpus(problem, profiles, MOST if entry.count is None else entry.count)
        if plan.status in (Status.OPTIMAL, Status.FEASIBLE):
            assert plan.gpus_used >= (MOST + 1 if best is None else best), seed
            proven += plan.status is Status.OPTIMAL
        if plan.status is Status.INFEASIBLE:
            assert best is None, seed
        if best is not None and plan.bound.gpus is not None:
            assert plan.bound.gpus <= best, seed
        assert plan.status is not Status.VIOLATING, seed
    assert proven >= 8


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_small_services_share_partitions_and_the_plan_holds(turns):
    problem = small_services(turns=turns)
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert (plan.status, plan.gpus_used) == (Status.OPTIMAL, 1)
    assert not check(problem, plan, shipped_profiles())
    rounds = [part for gpu in plan.gpus for part in gpu.partitions if len(part.serves) > 1]
    assert rounds
    assert all(part.turns == turns and part.mig_profile for part in rounds)
    alone = solve(small_services(turns="none"), "exact", time_limit_s=20)
    assert alone.gpus_used == 2


def test_a_service_of_many_partitions_has_its_rest_beside_others():
    workloads = [
        {"model": "vgg16", "rate_rps": 3000, "slo_ms": 200},
        {"model": "resnet50", "rate_rps": 20, "slo_ms": 200},
        {"model": "mobilenetv2", "rate_rps": 10, "slo_ms": 300},
    ]
    problem = problem_of(workloads, turns="fixed")
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not check(problem, plan, shipped_profiles())
    parts = [part for gpu in plan.gpus for part in gpu.partitions]
    assert sum("w0" in {one.workload for one in part.serves} for part in parts) > 1
    assert any(part.duty_cycle_ms is None for part in parts)


def test_equal_problems_have_equal_plans():
    one, other = (solve(small_services(), "exact-turns", time_limit_s=20) for _ in range(2))
    assert one.gpus == other.gpus


def test_too_few_gpus_are_proven_by_the_bound():
    workloads = [
        {"model": "vgg16", "rate_rps": 9000, "slo_ms": 200},
        {"model": "resnet50", "rate_rps": 5, "slo_ms": 99},
    ]
    problem = problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 1}], turns="fixed")
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status is Status.INFEASIBLE
    assert "more than there are" in plan.unserved[0].reason


def test_limits_on_replicas_are_refused_with_who_has_them():
    problem = problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 200, "min_replicas": 2}], turns="fixed")
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status is Status.REFUSED
    assert "keeps limits on replicas under MPS only; w0 has them" in plan.unserved[0].reason


def test_more_memory_than_a_partition_has_is_taken_by_nobody():
    problem = problem_of(
        [{"model": "resnet50", "rate_rps": 2, "slo_ms": 400, "memory_mib": 5000}] * 3,
        fleet=[{"gpu": "A100-80GB", "count": 1}],
        turns="fixed",
    )
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status is Status.OPTIMAL
    assert not check(problem, plan, shipped_profiles())
    together = [part.mig_profile for part in plan.gpus[0].partitions if len(part.serves) > 1]
    assert together
    assert "1g.10gb" not in together
