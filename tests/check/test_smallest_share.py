"""`check` finds shares that are smaller than what the hardware gives any client of MPS."""

import pytest
from problems.gpulets import a100_problem, a100_profiles
from problems.instances import problem_of
from support.least_sms import least_sms

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.plan import Plan

UNIT = 100 / 66
SERVICE = {"model": "resnet50", "rate_rps": 20, "slo_ms": 200}


def found(percent, settings=None, planner="exact"):
    """Returns what is wrong with a share of an H200 for one small service."""
    problem = problem_of([SERVICE], fleet=[{"gpu": "H200-141GB", "sharing": ["mps"]}], **settings or {})
    plan = solve(problem, planner, time_limit_s=2).model_dump(mode="json")
    plan["gpus"][0]["partitions"][0]["sm_percent"] = percent
    return [str(one) for one in check(problem, Plan.model_validate(plan), shipped_profiles())]


@pytest.mark.parametrize(("settings", "planner"), [({}, "exact"), ({"turns": "fixed"}, "exact-turns")])
def test_a_share_below_8_sms_of_an_h200_is_named_with_the_least_that_would_do(settings, planner):
    for units in (1, 2, 3):
        assert any(
            f"has a share of {units * UNIT:g} %; MPS gives a client of H200-141GB at least 8 of its 132 SMs, however "
            "small its share: expected 6.06061 % or more (8 SMs)" in one
            for one in found(units * UNIT, settings, planner)
        )
    assert not any("however small" in one for units in (4, 5, 66) for one in found(units * UNIT, settings, planner))


def test_of_other_types_nothing_is_known_and_nothing_said():
    assert [name for name, gpu in load_catalogue().items() if gpu.mps_least_sms is not None] == ["H200-141GB"]
    problem = problem_of([{**SERVICE, "model": "alexnet"}], fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}])
    plan = solve(problem)
    assert plan.gpus[0].partitions[0].sm_percent == 2.5
    assert check(problem, plan, shipped_profiles()) == []
    with least_sms("V100-SXM2-16GB", 3):  # rounded up to whole units of 2
        [wrong] = [one for one in check(problem, plan, shipped_profiles()) if "however small" in str(one)]
        assert "expected 5 % or more (4 SMs)" in str(wrong)


def test_so_is_a_measured_share_on_which_services_take_turns():
    problem = a100_problem((800, 800, 800, 400, 400))
    plan = solve(problem, "gpulets", profiles=a100_profiles())
    shares = [part.sm_percent for gpu in plan.gpus for part in gpu.partitions]
    assert set(shares) == {40, 60}
    with least_sms(plan.gpus[0].gpu, 50):
        wrong = [str(one) for one in check(problem, plan, a100_profiles())]
    assert sum("has a share of 40 %" in one and "however small" in one for one in wrong) == shares.count(40)
    assert not any("has a share of 60 %" in one for one in wrong)
