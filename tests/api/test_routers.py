"""What a better router would save: plans for every router, and the sentences that say it."""

import pytest
from problems.instances import problem_of, random_problem

from sliceplan.solver.api import plans_by_router, solve
from sliceplan.solver.api.routers import ROUTERS
from sliceplan.solver.commands.routers import routers_table
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.wording.routers import router_savings


def tight(dispatch):
    """Returns two services with short SLOs and many requests, so that they have many partitions."""
    problem = random_problem(2, 2)
    workloads = tuple(
        one.model_copy(update={"slo_ms": max(0.2 * one.slo_ms, 45), "rate_rps": 3 * one.rate_rps})
        for one in problem.workloads
    )
    settings = problem.settings.model_copy(update={"latency": "percentile", "dispatch": dispatch})
    return problem.model_copy(update={"workloads": workloads, "settings": settings})


def test_each_router_s_plan_is_what_solve_finds_and_better_ones_never_cost_more():
    found = plans_by_router(tight("random"))
    assert [row.dispatch for row in found.rows] == list(ROUTERS)
    costs = [row.plan.cost_per_hour for row in found.rows]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[1]
    assert found.own.cost_per_hour == costs[0]
    assert solve(tight("least_expected")).cost_per_hour == costs[2]
    lines = list(router_savings("random", [(row.dispatch, row.plan) for row in found.rows]))
    assert lines[0] == "weighted_round_robin would save $10.29 per hour (30.0%): 7 GPUs instead of 10 GPUs."
    assert lines[1].startswith("least_expected or central would save $10.29 per hour")
    worse = list(router_savings("weighted_round_robin", [(row.dispatch, row.plan) for row in found.rows]))
    assert worse == ["random would take $10.29 per hour (42.9%) more: 10 GPUs instead of 7 GPUs."]
    assert routers_table(found).row_count == 4
    assert [row["gpus"] for row in found.as_data()["routers"]] == [10, 7, 7, 7]


def test_a_plan_that_is_not_proven_says_what_is_left_open():
    plan = solve(problem_of([{"model": "bert", "rate_rps": 10, "slo_ms": 900}], latency="percentile"))
    loose = plan.model_copy(update={"bound": plan.bound.model_copy(update={"cost_per_hour": 1.0})})
    pairs = [("weighted_round_robin", plan), ("least_expected", loose)]
    assert list(router_savings("weighted_round_robin", pairs)) == [
        f"least_expected saves nothing that was found, and at most ${plan.cost_per_hour - 1:,.2f} per hour."
    ]
    assert list(router_savings("weighted_round_robin", pairs[:1])) == ["No other router costs less or more."]
    assert list(router_savings("random", pairs)) == ["There is no plan for random to compare with."]


def test_where_routers_do_not_matter_or_are_not_planned_that_is_said():
    workloads = [{"model": "resnet50", "rate_rps": 100, "slo_ms": 90}]
    with pytest.raises(InputError, match="promises the same however requests are dealt"):
        plans_by_router(problem_of(workloads))
    shared = [{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}]
    by_rules = plans_by_router(problem_of(workloads, fleet=shared, latency="percentile", mps_rules="igniter"))
    assert [row.dispatch for row in by_rules.rows] == ["random", "weighted_round_robin"]
    assert by_rules.left_out.startswith("on GPUs under MPS (V100-SXM2-16GB) by mps_rules: igniter")
