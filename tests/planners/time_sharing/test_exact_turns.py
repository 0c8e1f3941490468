"""The planner that lets services take turns with a proven bound."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.turns_beside_neighbours import fewest_pressed
from oracles.turns_on_instances import fewest_gpus
from problems.gpulets import a100_problem, a100_profiles, with_2080ti_neighbours
from problems.instance_turn_draws import beside_neighbours, turning_on_instances
from problems.instances import problem_of

from sliceplan.solver.api import check, solve
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.turns.turn_rule import TurnRule
from sliceplan.solver.planners import exact_turns
from sliceplan.solver.planners.exact_plans import of_contents
from sliceplan.solver.planners.exact_plans.turning_partitions import _of_share, divisions, measured_shares

OTHERS = ("sbp", "sbp-half", "gpulets", "self-tuning")


def planned(problem, planner="exact-turns", profiles=None):
    return solve(problem, planner, profiles=profiles or a100_profiles())


@pytest.mark.parametrize("rates", [(800, 800, 800, 400, 400), (200, 200, 200, 100, 100), (0, 900, 0, 0, 1600)])
def test_no_planners_plan_that_holds_is_cheaper_than_the_bound_or_the_plan(rates):
    problem = a100_problem(rates)
    exact = planned(problem)
    assert exact.status in (Status.OPTIMAL, Status.FEASIBLE)
    for name in OTHERS:
        plan = planned(problem, name)
        if plan.status is Status.FEASIBLE:
            assert exact.bound.gpus <= exact.gpus_used <= plan.gpus_used


def test_small_services_share_one_gpu():
    plan = planned(a100_problem((20, 20, 20, 10, 10)))
    assert (plan.status, plan.gpus_used) == (Status.OPTIMAL, 1)
    assert max(len(part.serves) for part in plan.gpus[0].partitions) > 1


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_of_few_services_the_optimum_is_proven(turns):
    plan = planned(a100_problem((0, 2400, 0, 2400, 2400), turns=turns))
    assert plan.status is Status.OPTIMAL
    assert "all divisions and contents" in plan.bound.method
    fewer = planned(a100_problem((0, 2400, 0, 2400, 2400), gpus=plan.gpus_used - 1, turns=turns))
    assert fewer.status is Status.INFEASIBLE
    assert "serve all rates" in fewer.unserved[0].reason


def test_what_no_count_of_gpus_serves_is_proven_by_the_bound_too():
    plan = planned(a100_problem((2400, 2400, 2400, 2400, 2400), gpus=2))
    assert plan.status is Status.INFEASIBLE
    assert "need at least 4 GPUs, more than there are" in plan.unserved[0].reason


def test_limits_on_replicas_and_lists_of_batch_sizes_are_kept():
    problem = problem_of(
        [
            {"model": "vgg16", "rate_rps": 900, "slo_ms": 60, "batch_sizes": [4, 8], "min_replicas": 3},
            {"model": "resnet50", "rate_rps": 300, "slo_ms": 60, "max_replicas": 1},
        ],
        fleet=[{"gpu": "A100-80GB", "sharing": ["mps"]}],
        turns="fixed",
    )
    plan = planned(problem)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    served = [one for gpu in plan.gpus for part in gpu.partitions for one in part.serves]
    assert sum(one.workload == "w0" for one in served) >= 3
    assert {one.batch for one in served if one.workload == "w0"} <= {4, 8}
    assert sum(one.workload == "w1" for one in served) == 1


def test_what_it_does_not_plan_is_refused_with_the_reason():
    many = problem_of(
        [{"model": "vgg16", "rate_rps": 10, "slo_ms": 60}] * 9,
        fleet=[{"gpu": "A100-80GB", "sharing": ["mps"]}],
        turns="fixed",
    )
    slowed = planned(many, profiles=with_2080ti_neighbours(a100_profiles()))
    assert "plans what neighbours slow by gpu-lets' model for up to 8 services" in slowed.unserved[0].reason


@pytest.mark.parametrize(
    ("sharing", "latency"), [("mps", "execution"), ("exclusive", "execution"), ("mps", "percentile")]
)
def test_many_services_share_gpus_under_mps_and_whole_ones(sharing, latency):
    workloads = [
        {"model": model, "rate_rps": rate, "slo_ms": slo_ms}
        for model, slo_ms in (("vgg16", 80), ("resnet50", 60), ("inception", 90))
        for rate in (5, 9, 14, 20, 40)
    ]
    fleet = [{"gpu": "A100-80GB", "sharing": list(dict.fromkeys(["mps", sharing]))}]
    problem = problem_of(workloads, fleet=fleet, turns="fixed", latency=latency)
    plan = solve(problem, "exact-turns", profiles=a100_profiles(), time_limit_s=3)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert plan.bound.gpus <= plan.gpus_used <= 2


def test_heavy_models_share_a_gpu_as_far_as_its_memory_goes():
    problem = problem_of(
        [{"model": "vgg16", "rate_rps": 10, "slo_ms": 200, "memory_mib": 30000}] * 3,
        fleet=[{"gpu": "A100-80GB", "sharing": ["mps"]}],
        turns="fixed",
    )
    plan = solve(problem, "exact-turns", profiles=a100_profiles(), time_limit_s=1)
    assert (plan.status, plan.gpus_used) == (Status.FEASIBLE, 2)


def test_of_few_services_under_mps_a_percentile_is_planned_as_all_that_there_is_says():
    proven = 0
    for seed in range(10):
        problem, profiles = turning_on_instances(seed, percentile=True, kinds=[["mps"]])
        plan, best = planned(problem, profiles=profiles), fewest_gpus(problem, profiles, 4)
        if plan.status in (Status.OPTIMAL, Status.FEASIBLE):
            assert plan.gpus_used >= (5 if best is None else best), seed
        if best is not None and best <= (problem.fleet[0].count or 4):
            assert plan.status in (Status.OPTIMAL, Status.FEASIBLE), seed
            assert plan.bound.gpus <= best == plan.gpus_used, seed
            proven += plan.status is Status.OPTIMAL
    assert proven >= 3


@pytest.mark.parametrize("percentile", [False, True])
def test_of_few_services_under_mps_limits_on_replicas_are_kept_as_all_that_there_is_says(percentile):
    proven = 0
    for seed in range(16):
        problem, profiles = turning_on_instances(seed, percentile=percentile, kinds=[["mps"]], limited=True)
        plan, best = planned(problem, profiles=profiles), fewest_gpus(problem, profiles, problem.fleet[0].count or 4)
        if best is None:
            assert plan.gpus_used > 4 or not plan.gpus, seed
        else:
            assert (plan.status, plan.gpus_used, plan.bound.gpus) == (Status.OPTIMAL, best, best), seed
            assert not check(problem, plan, profiles), seed
            proven += 1
    assert proven >= 6


def test_what_neighbours_slow_is_planned_and_no_plan_that_there_is_costs_less_than_the_bound():
    at_best = tried = 0
    for seed in range(12):
        problem, profiles = beside_neighbours(seed)
        plan, best = planned(problem, profiles=profiles), fewest_pressed(problem, profiles, problem.fleet[0].count or 3)
        if plan.gpus:
            assert plan.status is not Status.VIOLATING, seed
            assert not check(problem, plan, profiles), seed
            assert plan.gpus_used >= (4 if best is None else best), seed
        if best is not None:
            assert plan.bound.gpus <= best, seed
            at_best += plan.gpus_used == best
            tried += 1
    assert tried >= 6
    assert at_best >= tried - 1


def test_beside_neighbours_fewer_gpus_do_than_by_elastic_partitioning():
    problem, profiles = a100_problem((200, 200, 200, 100, 100)), with_2080ti_neighbours(a100_profiles())
    exact, elastic = (planned(problem, name, profiles) for name in ("exact-turns", "gpulets-int"))
    assert (exact.status, exact.gpus_used) == (Status.OPTIMAL, 1)
    assert (elastic.status, elastic.gpus_used) == (Status.FEASIBLE, 3)


@pytest.mark.parametrize("sharing", [["mps"], ["mps", "exclusive"]])
@pytest.mark.parametrize("memory_mib", [None, 15_000])
def test_beside_standby_processes_shares_and_memory_are_less(sharing, memory_mib):
    problem = problem_of(
        [{"model": "vgg16", "rate_rps": rate, "slo_ms": 80, "memory_mib": memory_mib} for rate in (5, 9, 400)],
        fleet=[{"gpu": "A100-80GB", "sharing": sharing}],
        turns="fixed",
        shadow_percent=30,
    )
    plan = solve(problem, "exact-turns", profiles=a100_profiles(), time_limit_s=2)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not check(problem, plan, a100_profiles())
    assert plan.gpus_used == (1 if memory_mib is None else 2)
    shared = [gpu for gpu in plan.gpus if gpu.sharing == "mps"]
    assert all(sum(part.sm_percent for part in gpu.partitions) <= 70 for gpu in shared)


@pytest.mark.parametrize(("gpus", "rounds"), [(None, True), (("A100-80GB",), True), (("T4",), False)])
def test_a_service_takes_turns_on_shares_of_gpus_that_it_may_use(gpus, rounds):
    """Beside one that may use any, and one whose model is not known there."""
    workloads = [{"model": model, "rate_rps": 9, "slo_ms": 200} for model in ("vgg16", "resnet50")]
    problem = problem_of(workloads, fleet=[{"gpu": "A100-80GB", "sharing": ["mps"]}], turns="fixed")
    resolved = resolve(problem, a100_profiles())
    barred, *others = resolved.problem.workloads
    problem = resolved.problem.model_copy(update={"workloads": (barred.model_copy(update={"gpus": gpus}), *others)})
    tables = {key: table for key, table in resolved.tables.items() if key[0] != "resnet50"}
    rule = TurnRule(np.full(2, 200.0), slots_kept=True)
    (share, *_) = measured_shares(resolved, resolved.fleet[0])
    known = _of_share(replace(resolved, problem=problem), resolved.fleet[0], share, rule)
    assert np.isfinite(known.latency_ms).any(axis=1).tolist() == [rounds, True]
    unknown = _of_share(replace(resolved, problem=problem, tables=tables), resolved.fleet[0], share, rule)
    assert np.isfinite(unknown.latency_ms).any(axis=1).tolist() == [rounds, False]


def test_a_search_that_is_given_up_says_its_bound(monkeypatch):
    offers = []
    monkeypatch.setattr(of_contents, "offer", offers.append)
    problem = a100_problem((2400, 0, 0, 0, 2400))
    found = exact_turns.ExactTurns().plan(resolve(problem, a100_profiles()), time_limit_s=20)
    given_up = offers[0](StopReason.INTERRUPTED)
    assert not given_up.gpus
    assert given_up.search.stopped is StopReason.INTERRUPTED
    assert 1 <= given_up.bound.gpus <= found.gpus_used
    assert "proves nothing" in given_up.unserved[0].reason


def test_a_gpu_is_divided_in_every_way_that_leaves_no_room():
    assert set(divisions((20.0, 40.0, 50.0, 60.0, 80.0, 100.0))) == {
        (100.0,),
        (80.0, 20.0),
        (60.0, 40.0),
        (60.0, 20.0, 20.0),
        (50.0, 50.0),
        (50.0, 40.0),
        (50.0, 20.0, 20.0),
        (40.0, 40.0, 20.0),
        (40.0, 20.0, 20.0, 20.0),
        (20.0,) * 5,
    }
    assert divisions((30.0,)) == ((30.0, 30.0, 30.0),)
    assert divisions(()) == ((),)
    assert divisions((20.0, 40.0), 70.0) == ((40.0, 20.0), (20.0, 20.0, 20.0))
