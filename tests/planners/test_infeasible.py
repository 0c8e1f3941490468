"""What a user reads when there is no plan."""

from problems.instances import problem_of, random_problem

from sliceplan.solver.api import solve
from sliceplan.solver.model.plan import Status


def test_too_strict_slo_names_the_fastest_operating_point_and_an_slo_that_would_do():
    plan = solve(problem_of([{"model": "vgg19", "rate_rps": 10, "slo_ms": 1}]))
    assert plan.status is Status.INFEASIBLE
    (item,) = plan.unserved
    assert "the fastest batch takes" in item.reason
    assert "7g.80gb of A100-80GB" in item.reason
    would_do = float(item.reason.split("an SLO of ")[1].split(" ms")[0])
    assert solve(problem_of([{"model": "vgg19", "rate_rps": 10, "slo_ms": would_do}])).status is Status.OPTIMAL
    assert solve(problem_of([{"model": "vgg19", "rate_rps": 10, "slo_ms": would_do * 0.97}])).unserved


def test_too_few_gpus_name_who_is_left_out_and_how_many_would_do():
    workloads = [
        {"model": "resnet50", "rate_rps": 9000, "slo_ms": 200},
        {"model": "vgg16", "rate_rps": 50, "slo_ms": 300},
    ]
    plan = solve(problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 1}]))
    assert plan.status is Status.INFEASIBLE
    assert [item.workload for item in plan.unserved] == ["w0"]
    needed = int(plan.unserved[0].reason.split("; ")[1].split(" x ")[0])
    enough = solve(problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": needed}]))
    assert enough.status is Status.OPTIMAL
    assert enough.gpus_used == needed


def test_too_few_replicas_name_how_many_would_do():
    workload = {"model": "vgg19", "rate_rps": 9000, "slo_ms": 400, "max_replicas": 1}
    plan = solve(problem_of([workload]))
    needed = int(plan.unserved[0].reason.split("max_replicas of ")[1].split(" ")[0])
    assert solve(problem_of([{**workload, "max_replicas": needed}])).status is Status.OPTIMAL


def test_memory_that_no_partition_has_is_named():
    plan = solve(problem_of([{"model": "vgg19", "rate_rps": 10, "slo_ms": 400, "memory_mib": 90_000}]))
    assert "memory" in plan.unserved[0].reason


def test_heuristic_that_needs_more_gpus_than_there_are_says_so_without_claiming_a_proof():
    fleet = [{"gpu": "A100-80GB", "count": 1}]
    workloads = [{"model": model, "rate_rps": 100, "slo_ms": 300} for model in ("vgg16", "resnet50")]
    plan = solve(problem_of(workloads, fleet=fleet), "whole-gpu")
    assert plan.status is Status.NONE_FOUND
    assert "another planner may need fewer" in plan.unserved[0].reason
    assert plan.bound.cost_per_hour is None


def test_many_services_on_too_few_gpus_are_named_in_seconds():
    """Prices say which are the cheapest to serve, and how many GPUs would do."""
    problem = random_problem(5000, seed=1)
    entry = problem.fleet[0].model_copy(update={"count": 2000})
    plan = solve(problem.model_copy(update={"fleet": (entry,)}))
    enough = solve(problem).gpus_used
    assert plan.status is Status.INFEASIBLE
    assert f"{enough:,} x A100-80GB would do for all services" in plan.unserved[0].reason
    assert 0 < len(plan.unserved) < 5000
