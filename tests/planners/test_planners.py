"""What holds for every planner."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, problems, random_problem, second_type, two_type_problem
from stand_ins.stuck_solver import stuck

from sliceplan.solver.api import compare, planner_names, solve
from sliceplan.solver.check import check
from sliceplan.solver.exact.fleet import decomposition
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status

SERVED = (Status.OPTIMAL, Status.FEASIBLE)


@settings(max_examples=20, deadline=None)
@given(problems())
def test_every_plan_passes_check_and_costs_at_least_the_proven_bound(problem):
    """Property: every planner's plan passes `check` (run by the front door) and none is below the bound."""
    comparison = compare(problem)
    assert comparison.is_sound, (comparison.failures, comparison.disputes)
    by_name = {plan.planner: plan for plan in comparison.plans}
    exact, other = by_name["exact"], by_name["exact-pulp"]
    assert exact.status == other.status, (exact.unserved, other.unserved)
    if exact.status is Status.OPTIMAL:
        assert exact.cost_per_hour == pytest.approx(other.cost_per_hour)
        assert exact.gap == 0
    for plan in comparison.plans:
        assert check(problem, plan, shipped_profiles()) == []
        if plan.status in SERVED:
            assert exact.status is Status.OPTIMAL
            assert plan.cost_per_hour >= exact.bound.cost_per_hour - 1e-6


@settings(max_examples=12, deadline=None)
@given(problems(max_workloads=4), st.integers(0, 3), st.floats(1.05, 3))
def test_proven_cost_never_falls_when_a_rate_rises(problem, index, factor):
    """Property: the optimum is monotone in every rate."""
    workloads = list(problem.workloads)
    raised = workloads[index % len(workloads)]
    workloads[index % len(workloads)] = raised.model_copy(update={"rate_rps": raised.rate_rps * factor})
    before = solve(problem)
    after = solve(problem.model_copy(update={"workloads": tuple(workloads)}))
    if after.status is Status.OPTIMAL:
        assert before.status is Status.OPTIMAL
        assert before.cost_per_hour <= after.cost_per_hour + 1e-6


@settings(max_examples=12, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_proven_cost_ignores_the_order_of_the_workloads(problem, shuffle):
    """Property: the optimum does not depend on how the problem lists its workloads."""
    workloads = list(problem.workloads)
    shuffle.shuffle(workloads)
    shuffled = solve(problem.model_copy(update={"workloads": tuple(workloads)}))
    assert solve(problem).cost_per_hour == shuffled.cost_per_hour


@pytest.mark.parametrize("planner", planner_names())
def test_same_problem_gives_the_same_plan_byte_for_byte(planner):
    problem = random_problem(15 if planner == "migserving-slow" else 30, seed=1)
    one, other = (solve(problem, planner).model_copy(update={"runtime_s": 0.0}) for _ in range(2))
    assert dump_plan(one) == dump_plan(other)


@pytest.mark.parametrize("planner", ["exact", "exact-pulp"])
def test_exact_planners_keep_replica_limits(planner):
    workloads = [
        {"model": "resnet50", "rate_rps": 400, "slo_ms": 200, "min_replicas": 3},
        {"model": "vgg16", "rate_rps": 1500, "slo_ms": 400, "max_replicas": 1},
    ]
    plan = solve(problem_of(workloads), planner)
    replicas = [s.workload for gpu in plan.gpus for part in gpu.partitions for s in part.serves]
    assert replicas.count("w0") >= 3
    assert replicas.count("w1") == 1


@pytest.mark.parametrize("planner", ["exact", "exact-pulp"])
def test_two_gpu_types_are_mixed_where_a_cheap_one_runs_out(planner):
    h100 = [
        profile.model_copy(update={"gpu": "H100-80GB-SXM"})
        for profile in shipped_profiles()
        if profile.model == "vgg16"
    ]
    fleet = [
        {"gpu": "A100-80GB", "count": 1, "price_per_hour": 1.0},
        {"gpu": "H100-80GB-SXM", "price_per_hour": 3.0},
    ]
    problem = problem_of([{"model": "vgg16", "rate_rps": 4000, "slo_ms": 400}], fleet=fleet)
    plan = solve(problem, planner, profiles=[*shipped_profiles(), *h100])
    assert plan.status is Status.OPTIMAL
    types = [gpu.gpu for gpu in plan.gpus]
    assert types.count("A100-80GB") == 1
    assert types.count("H100-80GB-SXM") >= 1
    assert plan.cost_per_hour == 1.0 + 3.0 * types.count("H100-80GB-SXM")


def test_among_equal_costs_exact_takes_no_more_slices_than_the_cross_check():
    problem = random_problem(8, seed=5)

    def slices(plan):
        return sum(int(part.mig_profile[0]) for gpu in plan.gpus for part in gpu.partitions)

    exact, other = solve(problem), solve(problem, "exact-pulp")
    assert exact.cost_per_hour == other.cost_per_hour
    assert slices(exact) <= slices(other)


def test_a_time_limit_gives_the_best_plan_so_far_with_its_bound():
    problem = two_type_problem(100, seed=1)
    with stuck(decomposition, name="counted_plan"):
        plan = solve(problem, profiles=[*shipped_profiles(), *second_type()], time_limit_s=20)
    assert plan.search.stopped == "time_limit"
    assert plan.status is Status.FEASIBLE
    assert 0 < plan.bound.cost_per_hour < plan.cost_per_hour
    assert plan.gap == pytest.approx(plan.cost_per_hour / plan.bound.cost_per_hour - 1)


def test_a_gpu_that_parvagpu_emptied_does_not_hide_a_broken_limit_on_replicas():
    """ParvaGPU needs three GPUs here, and four before its last phase, with one replica of a workload that wants two."""
    workloads = [
        {"model": "bert", "rate_rps": 1, "slo_ms": 34, "batch_sizes": [1], "min_replicas": 2},
        {"model": "resnet101", "rate_rps": 220, "slo_ms": 23},
        {"model": "resnet50", "rate_rps": 2897, "slo_ms": 20},
    ]
    fleet = [{"gpu": "A100-80GB", "count": 3}]
    problem = problem_of(workloads, fleet=fleet, slo_fraction=0.4, max_processes=2)
    plans = {plan.planner: plan for plan in compare(problem, ["exact", "best-split", "parvagpu"]).plans}
    assert plans["exact"].status is Status.OPTIMAL
    assert plans["best-split"].status is plans["parvagpu"].status is Status.NONE_FOUND
