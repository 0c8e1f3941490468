"""A search ends as soon as the proven gap is as small as was asked for, and says so; without a gap it goes on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import ROOT, problem_of, random_problem, second_type, two_type_problem
from support.command_line import sliceplan
from typer.main import get_command

from sliceplan.solver import api, cli
from sliceplan.solver.api import moving
from sliceplan.solver.exact.fleet import decomposition
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Status
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep, solve_point

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


def test_a_first_plan_within_the_gap_ends_the_search_before_any_program(monkeypatch):
    monkeypatch.setattr(decomposition, "best_covers", lambda *_, **__: pytest.fail("a program was run"))
    plan = api.solve(two_type_problem(30, 3), profiles=BOTH_TYPES, gap=0.9)
    assert 0 <= plan.gap <= 0.9


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


@pytest.fixture(scope="module")
def wide():
    """Returns a problem whose first plan is some 40 % above its bound, with more GPUs than it takes."""
    problem = two_type_problem(12, 1)
    fleet = tuple(entry.model_copy(update={"count": 12}) for entry in problem.fleet)
    return problem.model_copy(update={"fleet": fleet})


def test_prices_rest_on_a_plan_within_the_gap(wide):
    plan, report = api.price(wide, profiles=BOTH_TYPES, gap=0.9)
    assert plan.search.stopped == "gap_reached"
    assert report is not None


def test_the_plans_of_headroom_and_shedding_are_within_the_gap_and_their_answers_as_without(wide):
    short = wide.model_copy(update={"fleet": tuple(one.model_copy(update={"count": 2}) for one in wide.fleet)})
    grown = api.headroom(short, profiles=BOTH_TYPES, gap=0.9)
    assert grown.plan.gap <= 0.9
    assert grown.report.factor_limit <= grown.report.factor * (1 + 2e-5)
    left = api.shed(short, profiles=BOTH_TYPES, gap=0.9)
    assert left.plan.gap <= 0.9
    assert left.report.value_lost == api.shed(short, profiles=BOTH_TYPES).report.value_lost


def test_every_point_of_a_sweep_ends_at_the_gap(wide):
    sweep = Sweep(wide, BOTH_TYPES, parse_axes(["rate=1,1.1"], wide), gap=0.9)
    assert solve_point(sweep.packed(), (0,), None).stopped == "gap_reached"


def test_a_replanning_ends_as_soon_as_cost_and_moves_are_within_the_gap(wide):
    running = api.solve(wide, profiles=BOTH_TYPES, gap=0.9)
    more = tuple(one.model_copy(update={"rate_rps": 1.1 * one.rate_rps}) for one in wide.workloads)
    changed = wide.model_copy(update={"workloads": more})
    plan, report = moving.replan(changed, running, profiles=BOTH_TYPES, move_price=0.1, gap=0.9)
    assert plan.search.stopped == "gap_reached"
    assert not report.proven
    assert report.total_per_hour <= 1.9 * report.least_total_per_hour


def test_whatever_plans_within_a_time_limit_takes_a_gap():
    """Commands that read a problem; the limit of `transition` is not of a search for the least cost."""
    commands = get_command(cli.app).commands
    options = {name: {option for one in command.params for option in one.opts} for name, command in commands.items()}
    limited = {name for name, known in options.items() if {"problem", "--time-limit"} <= known}
    assert limited >= {"solve", "compare", "price", "sweep", "headroom", "shed", "replan"}
    assert [name for name in sorted(limited) if "--gap" not in options[name]] == []
