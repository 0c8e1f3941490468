"""`check` finds what a plan says of all of itself that its problem, or it itself, contradicts; by the field's name."""

import pytest
from problems.igniter_instances import example
from problems.instances import problem_of
from support.solved import Solved

from sliceplan.solver.check import check
from sliceplan.solver.check.totals import wrong_totals
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.consistency import STOPPED
from sliceplan.solver.model.plan import Plan, Status

ONE = [{"model": "bert", "rate_rps": 10, "slo_ms": 500}]
SPARE = problem_of(ONE, name="spare", spare_gpu_loss=True)
SHADOW = example(shadow_percent=10)
TWO_PRICES = problem_of(ONE, name="two-prices", fleet=[{"gpu": "A100-80GB"}, {"gpu": "T4", "sharing": ["exclusive"]}])
IMPOSSIBLE = problem_of([*ONE, {"model": "vgg16", "rate_rps": 1, "slo_ms": 0.01}], name="impossible")
NOT_TAKEN = problem_of(ONE * 2, name="not-taken", spare_gpu_loss=True)
PROBLEMS = (SPARE, SHADOW, TWO_PRICES, IMPOSSIBLE, NOT_TAKEN)
PLANS = Solved(*PROBLEMS, planners={"not-taken": "parvagpu"})

A100 = "A100-80GB"
NO_LIMIT = {"stopped": "time_limit", "time_limit_s": None, "solver": None}


def found(problem, change):
    plan = Plan.model_validate_json(PLANS[problem.name]).model_dump(mode="json")
    change(plan)
    return [str(one) for one in check(problem, Plan.model_validate(plan), shipped_profiles())]


def put(*path, value):
    """Returns a change of one field."""

    def change(plan):
        for key in path[:-1]:
            plan = plan[key]
        plan[path[-1]] = value(plan[path[-1]]) if callable(value) else value

    return change


def unserved(plan):
    plan["unserved"].append({"workload": "nobody", "reason": "is not there"})


def unserved_twice(plan):
    plan["unserved"] *= 2


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_plan_itself_holds(problem):
    assert found(problem, dict.copy) == []


@pytest.mark.parametrize(
    ("problem", "change", "message"),
    [
        (SPARE, put("insurance", value=None), "insurance is null, but the problem keeps some"),
        (SPARE, put("insurance", "extra_cost_per_hour", value=lambda usd: usd + 0.1), "insurance.extra_cost_per_h"),
        (SPARE, put("insurance", "extra_cost_per_hour", value=None), "insurance.extra_cost_per_hour is None"),
        (SPARE, put("insurance", "cost_without_per_hour", value=None), "insurance.extra_cost_per_hour is"),
        (SHADOW, put("shadow", value=None), "shadow is null, but the problem's shadow_percent is 10"),
        (SHADOW, put("shadow", "percent", value=11), "shadow.percent is 11"),
        (SHADOW, put("shadow", "extra_cost_per_hour", value=lambda usd: usd + 0.01), "shadow.extra_cost_per_hour is"),
        (
            TWO_PRICES,
            put("insurance", value={"cost_without_per_hour": None, "extra_cost_per_hour": None}),
            "insurance is given, but the problem keeps none",
        ),
        (
            TWO_PRICES,
            put("shadow", value={"percent": 5, "cost_without_per_hour": None, "extra_cost_per_hour": None}),
            "shadow is given, but the problem's shadow_percent is 0",
        ),
        (TWO_PRICES, put("bound", "gpus", value=1), "bound.gpus is 1, but GPUs of several prices"),
        (SPARE, put("bound", "gpus", value=1), "bound.gpus is 1, but the bound on the cost pays 2 GPUs"),
        (SPARE, put("bound", "cost_per_hour", value=None), "bound.cost_per_hour is null"),
        (IMPOSSIBLE, unserved, "unserved names 'nobody', which is not in the problem"),
        (IMPOSSIBLE, unserved_twice, "unserved names w1 2 times"),
        (IMPOSSIBLE, put("unserved", value=[]), "unserved names no unserved workload"),
        (IMPOSSIBLE, put("gap", value=0.0), "gap is given, but status is infeasible"),
        (IMPOSSIBLE, put("cost_per_hour", value=1.0), "cost_per_hour is given, but status is infeasible"),
        (NOT_TAKEN, put("search", "time_limit_s", value=30.0), "search.time_limit_s is 30"),
        (SPARE, put("search", value=NO_LIMIT), "search.time_limit_s is null"),
    ],
)  # fmt: skip
def test_a_wrong_statement_is_found_by_its_name(problem, change, message):
    assert any(message in one for one in found(problem, change)), found(problem, change)


@pytest.mark.parametrize("problem", [SPARE, IMPOSSIBLE, NOT_TAKEN], ids=lambda problem: problem.name)
def test_a_status_goes_with_the_ends_of_searches_that_prove_it(problem):
    plan = Plan.model_validate_json(PLANS[problem.name])
    for stopped in {stopped for ends in STOPPED.values() for stopped in ends}:
        said = found(problem, put("search", "stopped", value=stopped))
        assert any("search.stopped is" in one for one in said) == (stopped not in STOPPED[plan.status])
    for status in set(Status) - {plan.status}:
        assert any(status in one and "but" in one for one in found(problem, put("status", value=status)))


def test_an_answer_without_a_plan_promises_nothing():
    plan = Plan.model_validate_json(PLANS[IMPOSSIBLE.name])
    promising = problem_of(ONE, latency="percentile")
    assert [str(one) for one in wrong_totals(promising, plan, {}) if "promise" in one.message] == []


@pytest.mark.parametrize(("used", "said"), [({A100: 1}, True), ({A100: 1, "none": 1}, False), ({"none": 1}, False)])
def test_a_cost_is_judged_where_every_type_has_a_price(used, said):
    plan = Plan.model_validate_json(PLANS[TWO_PRICES.name])
    assert any("its GPUs cost" in one.message for one in wrong_totals(TWO_PRICES, plan, {**used, "T4": 7})) == said
