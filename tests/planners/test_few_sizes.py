"""Profiles of one's own may know few partition sizes: planners that go by some size do without it, or say so."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import problem_of

from sliceplan.solver.api import planners_for, solve
from sliceplan.solver.model.profile import Profile

SIZES = ("1g.6gb", "1g.6gb+me", "2g.12gb", "2g.12gb+me", "4g.24gb")
A30 = {"gpu": "A30-24GB", "price_per_hour": 1.0, "sharing": ["mig"]}


def profile(model, points):
    """Returns a profile with one point a size: (size, latency in ms)."""
    rows = [
        {"mig_profile": size, "batch": 4, "processes": 1, "latency_ms": ms, "throughput_rps": 4000 / ms}
        for size, ms in points.items()
    ]
    source = {"source": "made up", "method": "test"}
    return Profile.model_validate({"model": model, "gpu": "A30-24GB", "points": rows, "provenance": source})


tables = st.dictionaries(st.sampled_from(SIZES), st.floats(1, 50), min_size=1, max_size=3)


@settings(max_examples=12, deadline=None)
@given(st.lists(tables, min_size=1, max_size=2), st.floats(1, 3000))
def test_every_planner_plans_with_the_sizes_that_are_known(of_models, rate):
    """Property: with tables of any sizes every planner has a plan that holds, or says that it has none."""
    profiles = [profile(f"m{i}", points) for i, points in enumerate(of_models)]
    workloads = [{"model": f"m{i}", "rate_rps": rate / (i + 1), "slo_ms": 100} for i in range(len(of_models))]
    problem = problem_of(workloads, fleet=[A30])
    plans = {planner: solve(problem, planner, profiles=profiles) for planner in planners_for(problem)}
    for plan in plans.values():
        assert plan.gpus or plan.unserved
    assert plans["exact"].gpus


@pytest.mark.parametrize("planner", ["parvagpu", "parvagpu-unoptimized", "paris", "best-split"])
def test_a_service_that_only_special_sizes_serve_is_named(planner):
    """They know the plain sizes only, and ended with an empty maximum or a division by 0."""
    workloads = [{"name": "plain", "model": "m0", "rate_rps": 1, "slo_ms": 100}]
    workloads.append({"name": "media", "model": "m1", "rate_rps": 1, "slo_ms": 100})
    profiles = [profile("m0", {"1g.6gb": 9.0}), profile("m1", {"1g.6gb+me": 9.0})]
    plan = solve(problem_of(workloads, fleet=[A30]), planner, profiles=profiles)
    assert not plan.gpus
    assert "media" in {one.workload for one in plan.unserved}


def test_parvagpu_breaks_up_gpus_where_it_knows_only_one_of_the_small_sizes():
    """Algorithm 2 was to make segments of size 1 that nobody had measured."""
    profiles = [profile("m0", {"2g.12gb": 9.0}), profile("m1", {"4g.24gb": 5.0, "2g.12gb": 30.0})]
    workloads = [{"model": f"m{i}", "rate_rps": 500, "slo_ms": 100} for i in range(2)]
    assert solve(problem_of(workloads, fleet=[A30]), "parvagpu", profiles=profiles).gpus
