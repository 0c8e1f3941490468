"""`settings.bda`: batches and shares chosen anew after any planner under MPS, and where that makes no sense."""

import pytest
from problems.igniter_instances import FLEET, V100, example, random_mps_problem, table_3
from problems.instances import problem_of

from sliceplan.solver import api
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.judged import carried_rps
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.planners.registry import planners
from sliceplan.solver.wording.summary import plan_summary

UNDER_MPS = sorted(
    one.name for one in planners().values() if "mps" in one.sharing and not one.takes_turns and not one.own_model
)
VARIED = [
    {"model": "resnet50", "rate_rps": 500, "slo_ms": 60},
    {"model": "vgg19", "rate_rps": 250, "slo_ms": 90},
    {"model": "alexnet", "rate_rps": 900, "slo_ms": 30},
]


def with_bda(problem):
    return Problem.model_validate(problem.model_dump() | {"settings": {**problem.settings.model_dump(), "bda": True}})


def rates(plan):
    """Returns requests/s by service."""
    found = {}
    for served in (one for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves):
        found[served.workload] = found.get(served.workload, 0.0) + served.rate_rps
    return found


@pytest.mark.parametrize("planner", UNDER_MPS)
def test_every_planner_under_mps_gets_it_and_loses_nothing(planner):
    problem = example()
    before, after = api.solve(problem, planner), api.solve(with_bda(problem), planner)
    gain = after.batch_adjustment
    assert before.batch_adjustment is None
    assert check(with_bda(problem), after, shipped_profiles()) == []
    assert (after.status, after.cost_per_hour, after.gpus_used) == (before.status, before.cost_per_hour, 1)
    assert after.bound == before.bound
    assert gain.before == pytest.approx(sum(carried_rps(before).values()), rel=1e-9)
    assert gain.after == pytest.approx(sum(carried_rps(after).values()), rel=1e-9)
    assert gain.after > 1.5 * gain.before
    shares = [
        [(one.serves[0].workload, one.sm_percent) for one in gpu.partitions] for gpu in (*before.gpus, *after.gpus)
    ]
    assert all(new >= old for (_, old), (_, new) in zip(*shares, strict=True))
    assert "BDA chose" in plan_summary(after, after.gap)


def test_a_plan_that_misses_slos_may_be_mended():
    """`ffd` ignores interference: batches and shares chosen by the full model bring some of its services in time."""
    missing = []
    for seed in range(6):
        problem = random_mps_problem(8, seed)
        before, after = api.solve(problem, "ffd"), api.solve(with_bda(problem), "ffd")
        late = [{one.workload for one in plan.violations} for plan in (before, after)]
        assert late[1] <= late[0]
        missing.append([len(own) for own in late])
    assert sum(own for _, own in missing) < sum(own for own, _ in missing)


@pytest.mark.parametrize(
    "settings", [{"latency": "percentile"}, {"latency": "worst_case"}, {"latency": "assembly"}, {"slo_fraction": 0.8}]
)
def test_it_is_judged_by_the_rule_of_the_problem(settings):
    problem = problem_of(VARIED, fleet=FLEET, bda=True, **settings)
    plan = api.solve(problem, "exact", time_limit_s=5)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert check(problem, plan, shipped_profiles()) == []
    assert plan.batch_adjustment.after > plan.batch_adjustment.before
    assert rates(plan) == pytest.approx({one.name: one.rate_rps for one in problem.workloads})


def test_the_partitions_of_a_service_are_loaded_equally_and_others_than_shares_stay():
    fleet = [{"gpu": V100, "sharing": ["mps"]}, {"gpu": "A100-80GB", "count": 1}]
    services = [
        {"model": "resnet50", "rate_rps": 2600, "slo_ms": 60},
        {"model": "vgg19", "rate_rps": 300, "slo_ms": 60},
    ]
    problem = problem_of(services, fleet=fleet, bda=True)
    plan = api.solve(problem, "exact", time_limit_s=5)
    served = [one for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves]
    of_first = [one.rate_rps / one.carries_rps for one in served if one.workload == problem.workloads[0].name]
    assert len(of_first) > 1
    assert of_first == pytest.approx([of_first[0]] * len(of_first))
    assert check(problem, plan, shipped_profiles()) == []


@pytest.mark.parametrize("weights", ["equal", "solo"])
@pytest.mark.parametrize("planner", ["exact", "igniter-least-batch"])
def test_with_most_capacity_the_plan_says_what_it_carries_now(planner, weights):
    fleet = [{"gpu": V100, "sharing": ["mps"], "count": 2}]
    problem = problem_of(VARIED, fleet=fleet, objective="capacity", capacity_weights=weights, bda=True)
    plan = api.solve(problem, planner, time_limit_s=2)
    assert check(problem, plan, shipped_profiles()) == []
    assert plan.capacity.value == pytest.approx(plan.batch_adjustment.after)
    assert plan.capacity.limit is None or plan.capacity.value <= plan.capacity.limit


def test_a_comparison_says_what_it_gains():
    compared = api.compare(with_bda(table_3()), planners=["igniter", "igniter-least-batch"])
    assert compared.is_adjusted
    assert all(
        row["batch_adjustment"]["after"] > row["batch_adjustment"]["before"] for row in compared.as_data()["planners"]
    )


@pytest.mark.parametrize(
    ("fleet", "settings", "reason"),
    [
        ([{"gpu": "A100-80GB"}], {}, "no GPU type of the fleet is shared by MPS"),
        (FLEET, {"mps_rules": "igniter"}, "settings.mps_rules is 'igniter'"),
        (FLEET, {"turns": "fixed"}, "settings.turns is 'fixed'"),
        (FLEET, {"latency": "percentile", "dispatch": "central"}, "settings.dispatch is 'central'"),
    ],
)
def test_it_is_refused_with_the_reason_where_it_makes_no_sense(fleet, settings, reason):
    with pytest.raises(InputError, match=reason) as raised:
        api.solve(problem_of([{"model": "resnet50", "rate_rps": 50, "slo_ms": 60}], fleet=fleet, bda=True, **settings))
    assert "settings.bda" in str(raised.value)
