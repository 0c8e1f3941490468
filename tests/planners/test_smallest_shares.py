"""No planner gives a share that the hardware does not give so small."""

import random

import pytest
from problems.gpulets import a100_problem, a100_profiles
from problems.instances import problem_of
from support.least_sms import least_sms

from sliceplan.solver.api import check, planners_for, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.plan import Status

H200 = {"gpu": "H200-141GB", "sharing": ["mps"]}
MODELS = ("resnet50", "vgg19", "mobilenetv2", "encoder-base-128")


def shares(plan):
    return [part.sm_percent for gpu in plan.gpus if gpu.sharing == "mps" for part in gpu.partitions]


def many_small(count, seed=0, **settings):
    """Services on an H200 that need little each."""
    draw = random.Random(seed)
    workloads = [
        {"model": draw.choice(MODELS), "rate_rps": round(draw.uniform(1, 60), 1), "slo_ms": round(draw.uniform(20, 90))}
        for _ in range(count)
    ]
    return problem_of(workloads, fleet=[H200], **settings)


def test_the_least_units_are_the_fewest_with_as_many_sms_and_one_where_nothing_is_known():
    h200, v100 = load_catalogue()["H200-141GB"], load_catalogue()["V100-SXM2-16GB"]
    assert (h200.mps_least_units, h200.mps_least_percent) == (4, pytest.approx(100 * 8 / 132))
    assert (v100.mps_least_units, v100.mps_least_percent) == (1, 0.0)
    for sms, units in ((1, 1), (2, 1), (3, 2), (4, 2), (80, 40)):
        with least_sms("V100-SXM2-16GB", sms) as known:
            assert (known.mps_least_units, known.mps_least_percent) == (units, units * 2.5)


@pytest.mark.parametrize(
    "settings", [{}, {"mps_rules": "igniter"}, {"latency": "percentile"}, {"shadow_percent": 10}, {"bda": True}]
)
def test_no_planner_gives_an_h200_shares_below_8_sms(settings):
    """Property: of services of which each would do with less; whatever holds passes `check`."""
    problem = many_small(20, **settings)
    planned = 0
    for name in planners_for(problem):
        plan = solve(problem, name, time_limit_s=3)
        assert min(shares(plan), default=100) >= 100 * 8 / 132 - 1e-9, name
        assert not any("however small" in str(one) for one in check(problem, plan, shipped_profiles())), name
        planned += bool(plan.gpus)
    assert planned >= 3


def test_an_h200_takes_no_more_than_16_services_whatever_little_they_need():
    plan = solve(many_small(17), time_limit_s=5)
    assert (plan.status, plan.gpus_used, plan.bound.gpus) == (Status.OPTIMAL, 2, 2)
    assert solve(many_small(16), time_limit_s=5).gpus_used == 1


@pytest.mark.parametrize("planner", ["gpulets", "gpulets-int", "self-tuning", "exact-turns"])
def test_measured_shares_that_are_too_small_are_not_used_for_turns(planner):
    problem, profiles = a100_problem((800, 800, 800, 400, 400)), a100_profiles()
    before = solve(problem, planner, profiles=profiles, time_limit_s=3)
    assert min(shares(before)) <= 40
    with least_sms(before.gpus[0].gpu, 50):
        plan = solve(problem, planner, profiles=profiles, time_limit_s=3)
        assert plan.gpus
        assert min(shares(plan)) >= 50
        assert not any("however small" in str(one) for one in check(problem, plan, profiles))
