"""Partitions that are kept free: what they must allow, what they cost, and that check tries every case."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, problems, random_problem

from sliceplan.agent.model.plan_files import node_share
from sliceplan.solver.api import compare, planners_for, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.exports.assign import assign, parse_supply
from sliceplan.solver.formats.problem_files import example_problems, parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status

WITH_PLAN = (Status.OPTIMAL, Status.FEASIBLE)


def keeping(problem, **spare):
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=spare)})


def without_spares(plan, count=None):
    """Returns the plan with its free partitions taken away, all of them or the first few."""
    left = [len(plan.gpus) * 8 if count is None else count]

    def stays(partition):
        if partition.serves or not left[0]:
            return True
        left[0] -= 1
        return False

    gpus = [gpu.model_copy(update={"partitions": tuple(filter(stays, gpu.partitions))}) for gpu in plan.gpus]
    return plan.model_copy(update={"gpus": tuple(gpus)})


@settings(max_examples=6, deadline=None)
@given(problems(max_workloads=4), st.integers(1, 3), st.sampled_from([0.2, 0.5, 1.0]), st.booleans())
def test_plans_keep_what_is_asked_and_cost_no_less_than_without(problem, services, rate, gpu_loss):
    """Property: `solve` runs every plan through check, which tries every case."""
    without = solve(problem)
    plan = solve(keeping(problem, spare_services=services, spare_rate=rate, spare_gpu_loss=gpu_loss))
    if plan.status is Status.OPTIMAL:
        assert plan.cost_per_hour >= without.cost_per_hour - 1e-9
        assert plan.insurance.extra_cost_per_hour == pytest.approx(plan.cost_per_hour - without.cost_per_hour)


@settings(max_examples=6, deadline=None)
@given(problems(max_workloads=3), st.sampled_from([0.2, 0.5, 1.0]))
def test_room_for_all_services_at_once_costs_what_the_headroom_costs(problem, rate):
    """If every service may need more at once, each has its own: the plan is that of a greater rate."""
    all_at_once = solve(keeping(problem, spare_services=len(problem.workloads), spare_rate=rate))
    headroom = (1 + problem.settings.headroom) * (1 + rate) - 1
    grown = solve(keeping(problem, headroom=headroom))
    assert all_at_once.status is grown.status
    assert (all_at_once.cost_per_hour or 0) == pytest.approx(grown.cost_per_hour or 0)


def test_more_services_at_once_need_no_fewer_gpus():
    costs = [
        solve(keeping(random_problem(24, seed=3), spare_services=services, spare_rate=0.5)).gpus_used
        for services in (1, 3, 24)
    ]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_a_gpu_that_may_be_lost_has_its_double():
    problem = keeping(problem_of([{"model": "vgg16", "rate_rps": 940, "slo_ms": 200}]), spare_gpu_loss=True)
    plan = solve(problem)
    assert plan.gpus_used == 2
    used = sorted(p.mig_profile for gpu in plan.gpus for p in gpu.partitions if p.serves)
    free = sorted(p.mig_profile for gpu in plan.gpus for p in gpu.partitions if not p.serves)
    assert used == free
    assert plan.insurance.extra_cost_per_hour == pytest.approx(3.430881)


@pytest.mark.parametrize(
    ("spare", "message"),
    [
        ({"spare_gpu_loss": True}, "if it is lost"),
        ({"spare_services": 2, "spare_rate": 0.5}, "need 50% more rate at once, too few are free"),
    ],
)
def test_check_finds_the_case_that_a_missing_partition_leaves_unmet(spare, message):
    problem = keeping(example_problems()["demo"], **spare)
    plan = solve(problem)
    assert check(problem, plan, shipped_profiles()) == []
    assert any(message in violation.message for violation in check(problem, without_spares(plan), shipped_profiles()))
    assert any(
        message in violation.message for violation in check(problem, without_spares(plan, 1), shipped_profiles())
    )


def test_check_draws_cases_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr("sliceplan.solver.check.spares.MOST_CASES", 5)
    problem = keeping(random_problem(12, seed=1), spare_services=3, spare_rate=1.0)
    plan = solve(problem)
    found = check(problem, without_spares(plan), shipped_profiles())
    assert 0 < sum("more rate at once" in violation.message for violation in found) <= 5


def test_too_few_gpus_for_the_free_partitions_say_so():
    problem = problem_of([{"model": "vgg16", "rate_rps": 940, "slo_ms": 200}], fleet=[{"gpu": "A100-80GB", "count": 1}])
    plan = solve(keeping(problem, spare_gpu_loss=True))
    assert plan.status is Status.INFEASIBLE
    assert "kept free" in plan.unserved[0].reason


def test_planners_that_keep_nothing_free_are_refused_and_left_out():
    problem = keeping(example_problems()["demo"], spare_gpu_loss=True)
    assert planners_for(problem) == ("exact",)
    assert [plan.planner for plan in compare(problem).plans] == ["exact"]
    plan = solve(problem, "parvagpu")
    assert plan.status is Status.REFUSED
    assert "parvagpu does not plan partitions that are kept free" in plan.unserved[0].reason


def test_most_capacity_beside_what_is_kept_free_under_mps_is_refused_with_the_reason():
    problem = example_problems()["igniter"]
    fleet = tuple(entry.model_copy(update={"count": 8}) for entry in problem.fleet)
    asked = keeping(problem.model_copy(update={"fleet": fleet}), spare_gpu_loss=True, objective="capacity")
    plan = solve(keeping(asked, mps_rules="free"))
    assert plan.status is Status.REFUSED
    assert "with most capacity on MIG and whole GPUs only; the fleet has MPS on V100-SXM2-16GB" in (
        plan.unserved[0].reason
    )


def test_half_of_the_settings_is_refused():
    text = "version: 1\nname: x\nfleet: [{gpu: A100-80GB}]\n"
    text += "workloads: [{name: a, model: bert, rate_rps: 1, slo_ms: 300}]\n"
    with pytest.raises(InputError, match="spare_services and spare_rate go together"):
        parse_problem(text + "settings: {spare_services: 2}\n", "p.yaml")


def test_nodes_get_the_instances_that_are_kept_free():
    plan = solve(keeping(example_problems()["demo"], spare_gpu_loss=True))
    assigned = assign(
        plan.model_copy(update={"gpus": tuple(g.model_copy(update={"node": None}) for g in plan.gpus)}),
        [parse_supply("n1:8")],
    )
    states = node_share(assigned, "n1", "plan.json")
    instances = sum(len(state.instances) for state in states.values())
    assert instances == sum(len(gpu.partitions) for gpu in plan.gpus)
    assert any(not partition.serves for gpu in plan.gpus for partition in gpu.partitions)
