"""Where a plan's money goes, against plans that can be counted by hand."""

import pytest
from hypothesis import given, settings
from problems.instances import problem_of, problems

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.cost_breakdown import cost_breakdown
from sliceplan.solver.metrics.plan_metrics import measure
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.performance.prediction import peak_rps

PRICE = 7.0


def spent(partitions):
    """One A100 at $7, which has 7 slices, with partitions of (profile, start, capacity, rate)."""
    problem = problem_of(
        [{"model": "resnet50", "rate_rps": 1.0, "slo_ms": 500}], fleet=[{"gpu": "A100-80GB", "price_per_hour": PRICE}]
    )
    data = solve(problem).model_dump(mode="json")
    pattern = data["gpus"][0]["partitions"][0]
    served = pattern["serves"][0]
    data["gpus"][0]["partitions"] = [
        {
            **pattern,
            "mig_profile": profile,
            "start": start,
            "serves": [{**served, "capacity_rps": capacity, "rate_rps": rate}] if rate else [],
        }
        for profile, start, capacity, rate in partitions
    ]
    return cost_breakdown(problem, Plan.model_validate(data), shipped_profiles())


def test_each_part_is_counted_by_hand():
    profile = next(profile for profile in shipped_profiles() if profile.model == "resnet50")
    peak = peak_rps(profile, "1g.10gb")
    found = spent(
        [
            ("1g.10gb", 0, peak, peak),  # all useful
            ("1g.10gb", 1, peak, peak / 2),  # half of it is more than needed
            ("1g.10gb", 2, peak / 2, peak / 4),  # a quarter useful, a quarter too much, half lost to small batches
            ("1g.10gb", 3, 0, 0),  # kept free
        ]
    )
    assert found.useful == pytest.approx(1.75)
    assert found.over_provision == pytest.approx(0.75)
    assert found.internal_slack == pytest.approx(0.5)
    assert found.kept_free == pytest.approx(1.0)
    assert found.fragmentation == pytest.approx(3.0)


def test_a_plan_without_gpus_spends_nothing():
    problem = problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 1}])
    assert cost_breakdown(problem, solve(problem), shipped_profiles()) is None


@settings(max_examples=30, deadline=None)
@given(problems())
def test_the_parts_add_up_to_the_cost_and_agree_with_the_metrics(problem):
    """Property: nothing is spent twice or negative; on one GPU type the slack is the metrics' own."""
    plan = solve(problem, "parvagpu")
    found = cost_breakdown(problem, plan, shipped_profiles())
    if found is None:
        return
    parts = (found.useful, found.over_provision, found.internal_slack, found.kept_free, found.fragmentation)
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(plan.cost_per_hour)
    if len({gpu.gpu for gpu in plan.gpus}) == 1:
        metrics = measure(problem, plan, shipped_profiles())
        allocated = plan.cost_per_hour - found.fragmentation
        assert 1 - found.useful / allocated == pytest.approx(metrics.internal_slack)
        assert found.fragmentation / plan.cost_per_hour == pytest.approx(metrics.external_fragmentation)
