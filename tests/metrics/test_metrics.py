"""The metrics against plans that can be counted by hand."""

import pytest
from hypothesis import given, settings
from problems.instances import problem_of, problems

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.plan_metrics import measure
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.performance.prediction import peak_rps


def plan_with(partitions):
    """Returns a plan of one A100 with partitions of (profile, start, rate), all serving resnet50."""
    problem = problem_of([{"model": "resnet50", "rate_rps": 1.0, "slo_ms": 500}])
    plan = solve(problem).model_dump(mode="json")
    pattern = plan["gpus"][0]["partitions"][0]
    plan["gpus"][0]["partitions"] = [
        {**pattern, "mig_profile": profile, "start": start, "serves": [{**pattern["serves"][0], "rate_rps": rate}]}
        for profile, start, rate in partitions
    ]
    plan = Plan.model_validate(plan)
    return measure(problem, plan, shipped_profiles())


def test_a_3g_at_0_wastes_one_compute_slice_and_at_4_none():
    assert plan_with([("3g.40gb", 0, 1.0)]).wasted_compute_slices == 1
    assert plan_with([("3g.40gb", 4, 1.0)]).wasted_compute_slices == 0


def test_fragmentation_is_the_part_of_98_sms_that_no_partition_holds():
    metrics = plan_with([("3g.40gb", 4, 1.0), ("1g.10gb", 0, 1.0)])
    assert metrics.external_fragmentation == pytest.approx(1 - 56 / 98)


def test_slack_is_one_minus_the_load_weighted_by_sms():
    profile = next(profile for profile in shipped_profiles() if profile.model == "resnet50")
    peak = peak_rps(profile, "1g.10gb")
    metrics = plan_with([("1g.10gb", 0, peak), ("1g.10gb", 1, peak / 2), ("1g.10gb", 2, peak / 4)])
    assert metrics.internal_slack == pytest.approx(1 - (1 + 0.5 + 0.25) / 3)


def test_what_could_still_be_added_is_counted_for_each_profile():
    (cut,) = plan_with([("1g.10gb", 0, 1.0)]).gpus
    assert cut.addable["1g.10gb"] == 6
    assert cut.addable["2g.20gb"] == 2
    assert cut.addable["3g.40gb"] == 1
    assert "4g.40gb" not in cut.addable
    assert "7g.80gb" not in cut.addable


@settings(max_examples=30, deadline=None)
@given(problems())
def test_slack_and_fragmentation_are_parts_of_one(problem):
    """Property: both metrics lie between 0 and 1, and wasted slices are free slices."""
    metrics = solve(problem, "parvagpu").metrics
    if metrics is not None:
        assert 0 <= metrics.internal_slack <= 1
        assert 0 <= metrics.external_fragmentation <= 1
        for cut in metrics.gpus:
            assert cut.wasted_compute_slices <= cut.free_compute_slices
            assert cut.wasted_memory_slices <= cut.free_memory_slices
