"""
What `check` takes for rounding, and what for a mistake: of a figure a hundred thousandth is one, and a hundred
millionth is not, whatever the size of the figure.
"""

import pytest
from problems.igniter_instances import example
from problems.instances import problem_of
from support.solved import Solved

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan

MISTAKE, ROUNDING = 1e-5, 1e-8

CUT = problem_of(
    [{"model": "resnet50", "rate_rps": 700, "slo_ms": 200}, {"model": "bert", "rate_rps": 0.02, "slo_ms": 500}],
    fleet=[{"gpu": "A100-80GB", "price_per_hour": 0.035}],
)
SHARED = example()
PLANS = Solved(CUT, SHARED)


def plan_of(problem):
    return Plan.model_validate_json(PLANS[problem.name]).model_dump(mode="json")


def found(problem, plan):
    return [str(one) for one in check(problem, Plan.model_validate(plan), shipped_profiles())]


def served_of(plan, workload):
    served = (one for gpu in plan["gpus"] for part in gpu["partitions"] for one in part["serves"])
    return next(one for one in served if one["workload"] == workload)


def figure(workload, field):
    def change(plan, part):
        served_of(plan, workload)[field] *= 1 + part

    return change


def cause(workload, name):
    """Makes one cause longer by a part of the whole latency."""

    def change(plan, part):
        served = served_of(plan, workload)
        served["causes_ms"][name] += part * served["latency_ms"]

    return change


def share(plan, part):
    plan["gpus"][0]["partitions"][0]["sm_percent"] *= 1 + part


def cost(plan, part):
    plan["cost_per_hour"] *= 1 + part


FIGURES = {
    "latency of an instance": (CUT, figure("w0", "latency_ms"), "ms; the profile gives"),
    "capacity of an instance": (CUT, figure("w0", "capacity_rps"), "req/s; the profile gives"),
    "great rate": (CUT, figure("w0", "rate_rps"), "req/s in all; needed"),
    "small rate": (CUT, figure("w1", "rate_rps"), "req/s in all; needed"),
    "small cost": (CUT, cost, "but its GPUs cost"),
    "latency of a share": (SHARED, figure("vgg19", "latency_ms"), "ms; the interference model gives"),
    "capacity of a share": (SHARED, figure("vgg19", "capacity_rps"), "req/s; the model gives"),
    "cause of a latency": (SHARED, cause("vgg19", "active"), "other causes"),
    "share": (SHARED, share, "shares of a"),
    "cost": (SHARED, cost, "but its GPUs cost"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_may_be_off_by_its_rounding_alone(name):
    problem, change, message = FIGURES[name]
    for part in (ROUNDING, -ROUNDING):
        plan = plan_of(problem)
        change(plan, part)
        assert found(problem, plan) == []
    for part in (MISTAKE, -MISTAKE):
        plan = plan_of(problem)
        change(plan, part)
        assert any(message in one for one in found(problem, plan)), found(problem, plan)


def one_service(slo_ms, rate_rps, gpu):
    sharing = ["mps"] if gpu.startswith("V100") else ["mig"]
    return problem_of(
        [{"model": "resnet50", "rate_rps": rate_rps, "slo_ms": slo_ms}], fleet=[{"gpu": gpu, "sharing": sharing}]
    )


def limits(served, gpu, part):
    """Yields problems that a service breaks by a part of its latency or its capacity, with the words for that."""
    yield one_service(2 * served["latency_ms"] / (1 + part), 100, gpu), "leaves"
    yield one_service(200, served["capacity_rps"] * (1 + part), gpu), "its capacity is"


@pytest.mark.parametrize("gpu", ["A100-80GB", "V100-SXM2-16GB"])
def test_a_limit_may_be_passed_by_the_rounding_of_its_figure_alone(gpu):
    planned = solve(one_service(200, 100, gpu)).model_dump(mode="json")
    for part in (ROUNDING, MISTAKE):
        for problem, message in limits(served_of(planned, "w0"), gpu, part):
            plan = Plan.model_validate(planned).model_dump(mode="json")
            plan["problem"] = reference(problem).model_dump()
            served_of(plan, "w0")["rate_rps"] = problem.workloads[0].rate_rps
            said = [one for one in found(problem, plan) if message in one]
            assert bool(said) == (part == MISTAKE), (message, part, found(problem, plan))


@pytest.mark.parametrize(("part", "is_wrong"), [(ROUNDING, False), (MISTAKE, True)])
def test_shares_may_add_up_to_all_of_a_gpu_and_its_rounding(part, is_wrong):
    """Standby processes keep what the largest GPU's shares leave, less the part."""
    plan = plan_of(SHARED)
    taken = max(sum(one["sm_percent"] for one in gpu["partitions"]) for gpu in plan["gpus"])
    problem = example(shadow_percent=100 - taken / (1 + part))
    plan["problem"] = reference(problem).model_dump()
    assert any("gives away" in one for one in found(problem, plan)) == is_wrong


def with_bound(bound):
    """Returns the plan with another bound and the gap that follows."""
    plan = plan_of(CUT)
    cost = plan["cost_per_hour"]
    return plan | {
        "status": "feasible",
        "bound": plan["bound"] | {"cost_per_hour": bound * cost},
        "gap": max(0.0, 1 / bound - 1),
        "search": plan["search"] | {"stopped": "gap_left"},
    }


def test_a_bound_or_a_gap_that_is_a_little_off_is_found():
    assert found(CUT, with_bound(0.8)) == []
    assert any("is above its cost" in one for one in found(CUT, with_bound(1.0001)))
    assert any("is above its cost" in one for one in found(CUT, with_bound(1 + MISTAKE)))
    for optimal in (0.9999, 1 - MISTAKE):
        plan = with_bound(optimal) | {"status": "optimal"}
        assert any("status is optimal, but the bound" in one for one in found(CUT, plan))
    for more in (0.001, -0.001, MISTAKE):
        plan = with_bound(0.8)
        plan["gap"] += more
        assert any("but cost and bound give" in one for one in found(CUT, plan))
    plan = with_bound(0.8)
    plan["gap"] *= 1 + ROUNDING
    assert found(CUT, plan) == []
