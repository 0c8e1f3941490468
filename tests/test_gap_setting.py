"""A search ends as soon as the proven gap is as small as was asked for, and says so; without a gap it goes on."""

import pytest
from command_line import sliceplan
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import ROOT, problem_of, random_problem, second_type, two_type_problem

from sliceplan.solver import api
from sliceplan.solver.digest import reference
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status

BOTH_TYPES = [*shipped_profiles(), *second_type()]


@settings(max_examples=6, deadline=None)
@given(st.integers(3, 40), st.integers(0, 1000), st.sampled_from([0.01, 0.1, 0.5]))
def test_the_gap_is_as_small_as_asked_for_or_the_search_says_why_not(count, seed, gap):
    plan = api.solve(two_type_problem(count, seed), profiles=BOTH_TYPES, time_limit_s=10, gap=gap)
    if plan.gap is not None and plan.search.stopped != "time_limit":
        assert plan.gap <= gap * (1 + 1e-9)
        assert plan.search.stopped == ("proved" if plan.status is Status.OPTIMAL else "gap_reached")


def test_a_plan_within_the_gap_is_feasible_and_says_what_ended_the_search():
    plan = api.solve(two_type_problem(30, 3), profiles=BOTH_TYPES, gap=0.9)
    assert plan.search.stopped in ("gap_reached", "proved")
    assert 0 <= plan.gap <= 0.9
    assert plan.status is (Status.FEASIBLE if plan.search.stopped == "gap_reached" else Status.OPTIMAL)


def test_the_problem_states_a_gap_and_the_caller_overrides_it():
    problem = random_problem(5, 1)
    stated = problem.model_copy(update={"settings": problem.settings.model_copy(update={"gap": 0.5})})
    assert api.solve(stated).gap <= 0.5
    assert api.solve(stated, gap=0.0).status is Status.OPTIMAL


def test_no_gap_leaves_a_problems_digest_as_it_was():
    workload = [{"model": "bert", "rate_rps": 1, "slo_ms": 300}]
    assert reference(problem_of(workload)).sha256 == reference(problem_of(workload, gap=0)).sha256
    assert reference(problem_of(workload)).sha256 != reference(problem_of(workload, gap=0.1)).sha256


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_the_command_line_takes_a_gap(command, tmp_path):
    demo = ROOT / "plans" / "demo.yaml"
    options = ["-o", str(tmp_path / "plan.json")] if command == "solve" else ["--planner", "exact"]
    done = sliceplan(command, str(demo), "--gap", "0.2", *options)
    assert done.returncode == 0, done.stderr
