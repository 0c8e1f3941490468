"""Services that take turns, and partitions that are kept free for a service that needs more or a GPU that fails."""

from random import Random

import pytest
from oracles.turns_with_spares import fewest_with_spares
from problems.instance_turn_draws import ON_INSTANCES, WITH_SHARES, small_services, turning_on_instances
from problems.instances import problem_of

from sliceplan.solver.api import SimulationSettings, check, simulate, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.simulation.arrivals.even import Even

MOST = 2


def with_free(seed, **drawn):
    """Returns a problem with turns that keeps partitions free, and its tables."""
    problem, profiles = turning_on_instances(seed, **drawn)
    draw = Random(f"spares {seed}")
    services = draw.choice((0, 1, 2))
    asked = {
        "spare_services": services,
        "spare_rate": draw.choice((0.1, 0.5, 1.0)) if services else 0.0,
        "spare_gpu_loss": draw.random() < 0.6 or not services,
    }
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=asked)}), profiles


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("percentile", [False, True])
def test_no_plan_that_keeps_enough_free_costs_less_than_the_bound_and_no_plan_less_than_the_best(percentile, limited):
    """Property: beside the fewest GPUs that were found by trying everything."""
    proven = 0
    for seed in (0, 1, 3, 4, 5, 6, 8, 9) if limited else range(10):
        problem, profiles = with_free(seed, percentile=percentile, kinds=ON_INSTANCES, limited=limited)
        plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=20)
        best = fewest_with_spares(problem, profiles, min(MOST, problem.fleet[0].count or MOST))
        if plan.gpus:
            assert plan.gpus_used >= (MOST + 1 if best is None and problem.fleet[0].count is None else best or 0), seed
            assert not check(problem, plan, profiles), seed
            proven += plan.status is Status.OPTIMAL
        if best is not None:
            assert plan.status is not Status.INFEASIBLE, seed
            assert (plan.bound.gpus or 0) <= best, seed
    assert proven >= 2


def test_rounds_of_a_lost_gpu_have_partitions_elsewhere_and_that_is_one_gpu_more_at_least():
    problem = small_services(spare_gpu_loss=True)
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert (plan.status, plan.gpus_used, plan.bound.gpus) == (Status.OPTIMAL, 2, 2)
    assert "spare_bound.py" in plan.bound.method
    assert not check(problem, plan, shipped_profiles())
    assert any(len(part.serves) > 1 for gpu in plan.gpus for part in gpu.partitions)
    assert any(not part.serves for gpu in plan.gpus for part in gpu.partitions)
    assert plan.insurance.extra_cost_per_hour == pytest.approx(plan.cost_per_hour / 2)


def test_any_gpu_that_fails_in_the_simulation_is_taken_over_with_its_rounds():
    problem = small_services(spare_gpu_loss=True)
    plan = solve(problem, "exact-turns", time_limit_s=20)
    for lost in plan.gpus:
        had = sum(len(part.serves) for part in lost.partitions)
        fails = SimulationSettings(arrivals=Even(), seconds=2.0, failures_s={lost.id: 1.0}, takeover_s=0.0)
        report = simulate(problem, plan, fails)
        assert all(one.unstable is None for one in report.services)
        assert not had or f"{had} of {had} lost servers are up again" in " ".join(report.notes)


def test_services_that_may_need_more_have_partitions_for_it_and_what_turns_have_left_counts():
    without, one, all_of_them = (
        solve(small_services(spare_services=many, spare_rate=rate), "exact-turns", time_limit_s=20)
        for many, rate in ((0, 0.0), (1, 3.0), (12, 3.0))
    )
    free = [sum(not part.serves for gpu in plan.gpus for part in gpu.partitions) for plan in (without, one)]
    assert free[0] == 0
    assert without.gpus_used <= one.gpus_used <= all_of_them.gpus_used
    for plan, many in ((one, 1), (all_of_them, 12)):
        problem = small_services(spare_services=many, spare_rate=3.0)
        assert not check(problem, plan, shipped_profiles())
        assert plan.bound.gpus <= plan.gpus_used


def test_more_rate_raises_the_bound():
    """A heavy service that may need twice its rate takes as many GPUs as one that always does."""
    heavy = {"model": "vgg16", "rate_rps": 900, "slo_ms": 100}
    may, does, less = (
        solve(problem_of([{**heavy, "rate_rps": rate}], turns="fixed", **settings), "exact-turns", time_limit_s=5)
        for rate, settings in ((900, {"spare_services": 1, "spare_rate": 3.0}), (3600, {}), (900, {}))
    )
    assert less.bound.gpus < may.bound.gpus == does.bound.gpus <= may.gpus_used


def test_fewer_gpus_than_a_loss_needs_are_proven_too_few():
    problem = small_services(spare_gpu_loss=True, fleet=[{"gpu": "A100-80GB", "count": 1}])
    plan = solve(problem, "exact-turns", time_limit_s=5)
    assert plan.status is Status.INFEASIBLE
    assert "at least 2 GPUs" in plan.unserved[0].reason


def test_replicas_that_more_rate_would_take_are_said():
    service = {"model": "vgg16", "rate_rps": 900, "slo_ms": 100, "max_replicas": 1}
    plan = solve(problem_of([service], turns="fixed", spare_services=1, spare_rate=9.0), "exact-turns", time_limit_s=2)
    assert plan.status is Status.INFEASIBLE
    assert "max_replicas of 6 would do" in plan.unserved[0].reason


def test_shares_under_mps_are_not_kept_free():
    problem, profiles = with_free(0, kinds=WITH_SHARES)
    plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=5)
    assert plan.status is Status.REFUSED
    assert "on MIG and whole GPUs only; the fleet has MPS on A100-80GB" in plan.unserved[0].reason
