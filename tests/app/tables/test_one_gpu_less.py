"""Whether a bound forbids to leave one of a plan's GPUs out, against plans of a fleet that has one less."""

import pytest
from problems.shop import shop

from sliceplan.app.tables.one_gpu_less import saves_no_gpu
from sliceplan.solver.api import solve
from sliceplan.solver.model.plan import Status


@pytest.fixture(scope="module")
def plan():
    return solve(shop())


def with_bound(plan, usd):
    return plan.model_copy(update={"bound": plan.bound.model_copy(update={"cost_per_hour": usd})})


def test_a_proven_plan_does_with_no_gpu_less_and_a_fleet_with_one_less_has_no_plan(plan):
    assert saves_no_gpu(plan)
    problem = shop()
    less = tuple(entry.model_copy(update={"count": len(plan.gpus) - 1, "nodes": None}) for entry in problem.fleet)
    assert len(less) == 1
    assert solve(problem.model_copy(update={"fleet": less})).status is Status.INFEASIBLE


def test_a_bound_that_one_gpu_less_would_keep_says_nothing(plan):
    price = next(one.usd_per_hour for one in plan.gpu_prices if one.gpu == plan.gpus[0].gpu)
    assert saves_no_gpu(with_bound(plan, plan.cost_per_hour - 0.99 * price))
    assert not saves_no_gpu(with_bound(plan, plan.cost_per_hour - price))
    assert not saves_no_gpu(with_bound(plan, None))


@pytest.mark.parametrize("change", [{"gpus": ()}, {"status": Status.VIOLATING}, {"gpu_prices": None}])
def test_what_is_no_plan_or_has_no_prices_says_nothing(plan, change):
    assert not saves_no_gpu(plan.model_copy(update=change))
