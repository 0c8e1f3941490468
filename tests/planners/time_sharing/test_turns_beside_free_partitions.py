"""Services that take turns, and partitions that are kept free for a service that needs more or a GPU that fails."""

from random import Random

import pytest
from oracles.turns_beside_igniter import fewest_slowed_with_spares
from oracles.turns_with_spares import fewest_with_spares
from problems.instance_turn_draws import ON_INSTANCES, WITH_SHARES, small_services, turning_on_instances
from problems.instances import problem_of
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns

from sliceplan.solver.api import SimulationSettings, check, simulate, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
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


@pytest.mark.parametrize("percentile", [False, True])
def test_of_shares_under_mps_too_no_plan_costs_less_than_the_bound_and_no_plan_less_than_the_best(percentile):
    """Property: alone and beside instances, with all contents and all free shares."""
    at_best, there = 0, 0
    for seed in (2, 3, 5, 7, 9, 11):
        problem, profiles = with_free(seed, percentile=percentile, kinds=WITH_SHARES)
        plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=4)
        best = fewest_with_spares(problem, profiles, min(MOST, problem.fleet[0].count or MOST))
        if plan.gpus:
            assert plan.gpus_used >= (MOST + 1 if best is None and problem.fleet[0].count is None else best or 0), seed
            assert not check(problem, plan, profiles), seed
            at_best += plan.gpus_used == best
        if best is not None:
            there += 1
            assert plan.status is not Status.INFEASIBLE, seed
            assert (plan.bound.gpus or 0) <= best, seed
    assert at_best >= max(1, there / 2)


def test_beside_neighbours_too_no_plan_costs_less_than_the_bound_and_no_plan_less_than_the_best():
    """Property: by iGniter's model, with all contents of all shares; what is kept free are whole GPUs."""
    at_best, there = 0, 0
    for seed in (3, 4, 6, 7, 8, 9, 10, 11):
        draw = Random(seed)
        services = draw.choice((0, 1, 2))
        asked = {
            "spare_services": services,
            "spare_rate": draw.choice((0.1, 0.5, 1.0)) if services else 0.0,
            "spare_gpu_loss": draw.random() < 0.6 or not services,
        }
        with small_gpus():
            problem, profiles, units = slowed_turns(seed, **asked)
            plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=2)
            best = fewest_slowed_with_spares(problem, profiles, units, 4, MOST + 1)
            if plan.gpus:
                assert plan.gpus_used >= (MOST + 2 if best is None else best), seed
                assert not check(problem, plan, profiles), seed
                at_best += plan.gpus_used == best
            if best is not None:
                there += 1
                assert plan.status is not Status.INFEASIBLE, seed
                assert (plan.bound.gpus or 0) <= best, seed
    assert at_best >= max(2, there / 2)


def four_services(**settings):
    """Services on V100s that slow each other, one of them too great for a GPU."""
    workloads = [
        {"model": model, "rate_rps": rate, "slo_ms": 150}
        for model, rate in (("alexnet", 40), ("resnet50", 30), ("vgg19", 400), ("ssd", 10))
    ]
    return problem_of(workloads, fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}], turns="fixed", **settings)


def test_what_runs_under_mps_moves_as_a_whole_and_its_services_have_the_neighbours_that_they_had():
    problem = four_services(spare_gpu_loss=True)
    plan = solve(problem, "exact-turns", time_limit_s=40)
    alone = solve(four_services(), "exact-turns", time_limit_s=40)
    assert plan.gpus_used == alone.gpus_used + 1
    assert "shares_kept_free.py" in plan.bound.method
    assert not check(problem, plan, shipped_profiles())
    [free] = [gpu for gpu in plan.gpus if not any(part.serves for part in gpu.partitions)]
    assert [part.sm_percent for part in free.partitions] == [100.0]
    lost = next(gpu for gpu in plan.gpus if gpu is not free)
    had = sum(len(part.serves) for part in lost.partitions)
    fails = SimulationSettings(arrivals=Even(), seconds=2.0, failures_s={lost.id: 1.0}, takeover_s=0.0)
    report = simulate(problem, plan, fails)
    assert all(one.unstable is None for one in report.services)
    assert f"{had} of {had} lost servers are up again" in " ".join(report.notes)
    smaller = free.partitions[0].model_copy(update={"sm_percent": 10.0})
    others = tuple(gpu for gpu in plan.gpus if gpu is not free)
    damaged = plan.model_copy(update={"gpus": (*others, free.model_copy(update={"partitions": (smaller,)}))})
    said = [str(one) for one in check(problem, damaged, shipped_profiles())]
    assert any("no other one serves nothing and keeps that free" in one for one in said)


def test_a_service_that_needs_more_takes_a_gpu_that_is_kept_free():
    problem = four_services(spare_services=1, spare_rate=1.0)
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert not check(problem, plan, shipped_profiles())
    fewer = tuple(gpu for gpu in plan.gpus if any(part.serves for part in gpu.partitions))
    if len(fewer) < len(plan.gpus):
        said = [str(one) for one in check(problem, plan.model_copy(update={"gpus": fewer}), shipped_profiles())]
        assert any("100% more rate at once, too few are free" in one for one in said)


def test_what_is_kept_free_for_a_loss_serves_who_needs_more_and_the_bound_says_no_more():
    """A service that fills most of a GPU, and two of them if it needs more, has a second one for both troubles."""
    service = {"model": "vgg19", "rate_rps": 450, "slo_ms": 150}
    fleet = [{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}]
    more = {**service, "rate_rps": 450 * 1.6}
    needs_two = solve(problem_of([more], fleet=fleet, turns="fixed"), "exact-turns", time_limit_s=40)
    assert needs_two.bound.gpus == 2
    asked = {"turns": "fixed", "spare_gpu_loss": True, "spare_services": 1, "spare_rate": 0.6}
    problem = problem_of([service], fleet=fleet, **asked)
    plan = solve(problem, "exact-turns", time_limit_s=40)
    assert (plan.status, plan.gpus_used, plan.bound.gpus) == (Status.OPTIMAL, 2, 2)
    assert not check(problem, plan, shipped_profiles())


def test_a_share_is_kept_free_only_where_the_problem_asks_for_it():
    plan = solve(four_services(spare_gpu_loss=True), "exact-turns", time_limit_s=40)
    problem = four_services()
    answers = plan.model_copy(update={"problem": reference(problem), "insurance": None})
    assert any("the problem keeps none free" in str(one) for one in check(problem, answers, shipped_profiles()))
