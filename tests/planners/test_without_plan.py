"""Proven infeasibility, a heuristic's failure, a refusal and no answer in time are four different words everywhere."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.igniter_instances import V100, mps_problems, table_3
from problems.instances import problem_of, problems
from problems.shop import mixed, shop
from support.command_line import sliceplan
from typer.testing import CliRunner

from sliceplan.solver.allocation.assembly import REFUSED, WITHOUT_PLAN, without_plan
from sliceplan.solver.api import compare, planner_names, solve
from sliceplan.solver.check import check
from sliceplan.solver.cli import app
from sliceplan.solver.commands.exit_codes import Exit, best_of, exit_code
from sliceplan.solver.exact.fleet.fleet_answer import FleetAnswer
from sliceplan.solver.formats.plan_files import dump_plan, write_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Bound, Search, Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans import of_shares
from sliceplan.solver.wording.plain_words import in_plain_words
from sliceplan.solver.wording.reasons import reasons
from sliceplan.solver.wording.summary import plan_summary

HELD = (Status.OPTIMAL, Status.FEASIBLE)
ONE_GPU = [{"gpu": "A100-80GB", "count": 1}]
TWO_SERVICES = problem_of([{"model": model, "rate_rps": 100, "slo_ms": 300} for model in ("vgg16", "resnet50")])
WITH_MEDIA_ENGINES = problem_of([{"model": "m", "rate_rps": 5, "slo_ms": 100}])


def with_engines():
    """A profile that is measured on an instance with media engines too, which exact-pulp does not take."""
    (one,) = [p for p in shipped_profiles() if p.gpu == "A100-80GB" and p.model == "bert"]
    point = {"batch": 1, "processes": 1, "latency_ms": 10, "throughput_rps": 10}
    points = [{**point, "mig_profile": name} for name in ("1g.10gb", "1g.10gb+me")]
    data = {**one.model_dump(mode="json"), "model": "m", "curves": [], "points": points, "interference": None}
    return [type(one).model_validate(data)]


@settings(max_examples=20, deadline=None)
@given(st.one_of(problems(max_workloads=4), mps_problems(most=4)), st.sampled_from([None, 0, 1, 2]))
def test_infeasible_is_never_said_of_a_problem_that_has_a_plan(problem, count):
    """Property: no planner claims a proof that another's verified plan refutes; the words agree with the ends."""
    if count is not None:
        fleet = tuple(entry.model_copy(update={"count": count}) for entry in problem.fleet)
        problem = problem.model_copy(update={"fleet": fleet})
    try:
        comparison = compare(problem, planner_names(), time_limit_s=10)
    except InputError:  # models that have nothing on this fleet
        return
    assert comparison.is_sound, (comparison.failures, comparison.disputes)
    plans = {plan.planner: plan for plan in comparison.plans}
    said = {name for name, plan in plans.items() if plan.status is Status.INFEASIBLE}
    held = {name for name, plan in plans.items() if plan.status in HELD}
    assert not (said and held), (said, held)
    for name, plan in plans.items():
        assert check(problem, plan, shipped_profiles()) == [] or plan.status is Status.VIOLATING
        if not plan.gpus:
            assert plan.status is WITHOUT_PLAN[plan.search.stopped]
        proves = name in ("exact", "exact-pulp") or said == set(plans)
        assert plan.status is not Status.INFEASIBLE or proves, name


def test_a_heuristic_that_needs_too_many_gpus_found_none():
    problem = TWO_SERVICES.model_copy(
        update={"fleet": problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 300}], fleet=ONE_GPU).fleet}
    )
    assert solve(problem).status is Status.OPTIMAL
    plan = solve(problem, "whole-gpu")
    assert (plan.status, plan.search.stopped) == (Status.NONE_FOUND, "heuristic_done")
    assert exit_code(plan) is Exit.NONE_FOUND
    assert "not proven that there is none" in plan_summary(plan, None)
    assert "exact looks for a plan" in in_plain_words(problem, plan).limit


def test_exact_pulp_proves_nothing_of_a_fleet_with_mps():
    """It plans MIG and whole GPUs: that these are too few says nothing of the problem."""
    fleet = [{"gpu": "A100-80GB", "count": 1}, {"gpu": V100, "sharing": ["mps"]}]
    problem = problem_of([{"model": "resnet50", "rate_rps": 9000, "slo_ms": 60}], fleet=fleet)
    assert solve(problem).gpus_used > 1
    plan = solve(problem, "exact-pulp")
    assert plan.status is Status.NONE_FOUND
    assert "without MPS, which it does not plan" in plan.unserved[0].reason


@pytest.mark.parametrize("limit", [{"gpus": [V100]}, {"max_replicas": 1}])
def test_exact_pulp_has_found_none_at_once_where_a_service_needs_mps(limit):
    """Its instances are too slow, or it may not use them: no counting of GPUs is needed to see that."""
    (bert,) = with_engines()
    slow = bert.points[0].model_copy(update={"mig_profile": "1g.6gb"})
    a30 = bert.model_copy(update={"gpu": "A30-24GB", "model": "resnet50", "points": (slow,)})
    fleet = [{"gpu": "A30-24GB", "count": 1, "price_per_hour": 1}, {"gpu": V100, "sharing": ["mps"], "count": 9}]
    problem = problem_of([{"model": "resnet50", "rate_rps": 100, "slo_ms": 60, **limit}], fleet=fleet)
    known = [*shipped_profiles(), a30]
    assert solve(problem, profiles=known).status in HELD
    plan = solve(problem, "exact-pulp", profiles=known)
    assert plan.status is Status.NONE_FOUND
    assert "exact-pulp does not plan MPS" in plan.unserved[0].reason


def test_what_only_exact_pulp_refuses_has_a_plan_by_another():
    known = with_engines()
    plans = {plan.planner: plan for plan in compare(WITH_MEDIA_ENGINES, ["exact", "exact-pulp"], profiles=known).plans}
    assert plans["exact"].status is Status.OPTIMAL
    refusal = plans["exact-pulp"]
    assert (refusal.status, refusal.search) == (Status.REFUSED, REFUSED)
    assert "engine limits" in refusal.unserved[0].reason
    assert exit_code(refusal) is Exit.REFUSED


@pytest.mark.parametrize(
    ("problem", "planner", "reason"),
    [
        (table_3(), "parvagpu", "parvagpu plans MIG, which no GPU type of the fleet allows"),
        (table_3(), "exact-pulp", "exact-pulp plans MIG and whole GPUs, which no GPU type of the fleet allows"),
        (shop(), "igniter", "igniter plans MPS, which no GPU type of the fleet allows"),
        (example_problems()["igniter"], "gpulets-igniter", "no measured solo table of alexnet on V100-SXM2-16GB"),
    ],
)
def test_a_problem_that_a_planner_cannot_take_is_refused_and_not_infeasible(problem, planner, reason):
    plan = solve(problem, planner)
    assert plan.status is Status.REFUSED
    assert reason in plan.unserved[0].reason
    assert "proves nothing about it" in plan_summary(plan, None)
    assert "Compare shows which" in in_plain_words(problem, plan).limit


WAY_OF_FILES = re.compile(r"(?<![\w.'-])(?:mig|mps|exclusive)(?![\w.'-])")
"""What files call a way of dividing GPUs, where it stands as a word of a sentence."""


@pytest.mark.parametrize(
    "problem",
    [
        table_3(),
        shop(),
        mixed(),
        example_problems()["cpus"],
        table_3(spare_gpu_loss=True),
    ],
)
def test_refusals_say_ways_of_dividing_as_people_do(problem):
    comparison = compare(problem, planner_names(), time_limit_s=0.5)
    refused = [plan for plan in comparison.plans if plan.status is Status.REFUSED]
    assert refused
    for plan in refused:
        for item in plan.unserved:
            assert not WAY_OF_FILES.search(item.reason), item.reason


def test_what_nothing_can_serve_is_proven_for_every_planner():
    problem = problem_of([{"model": "vgg19", "rate_rps": 10, "slo_ms": 1}])
    assert {solve(problem, name).status for name in planner_names()} == {Status.INFEASIBLE}


@pytest.mark.parametrize(
    ("stopped", "status", "code"),
    [
        ("infeasible", Status.INFEASIBLE, Exit.NO_PLAN),
        ("gap_left", Status.NONE_FOUND, Exit.NONE_FOUND),
        ("time_limit", Status.TIMEOUT, Exit.NO_ANSWER),
    ],
)
def test_the_ends_of_the_exact_search_under_mps_are_told_apart(monkeypatch, stopped, status, code):
    few = table_3(mps_rules="igniter")
    few = few.model_copy(update={"fleet": (few.fleet[0].model_copy(update={"count": 4}),)})
    answer = FleetAnswer(stopped, "stub", 1.0, "stub", None)
    monkeypatch.setattr(of_shares, "solve_mixed_fleet", lambda *_, **__: answer)
    plan = solve(few)
    assert (plan.status, exit_code(plan)) == (status, code)
    assert plan.bound == Bound(cost_per_hour=1.0, gpus=plan.bound.gpus, method="stub")
    claims = [line for line in reasons(plan) if "it has no place" in line or "too few GPUs" in line]
    assert bool(claims) == (status is Status.INFEASIBLE)
    assert bool(plan.unserved) == (status is not Status.TIMEOUT)


def test_an_end_that_no_planner_without_a_plan_may_have_is_an_error():
    resolved = resolve(TWO_SERVICES, shipped_profiles())
    with pytest.raises(KeyError):
        without_plan(resolved, (), planner="x", search=Search(stopped="proved", time_limit_s=None, solver=None))


def test_words_that_do_not_fit_the_end_of_the_search_do_not_pass_check():
    problem = problem_of([{"model": "vgg19", "rate_rps": 10, "slo_ms": 1}])
    plan = solve(problem)
    for status in (Status.INFEASIBLE, Status.NONE_FOUND, Status.REFUSED, Status.TIMEOUT):
        for stopped in ("proved", *WITHOUT_PLAN):
            limit_s = 30.0 if stopped == "time_limit" else None
            search = Search(stopped=stopped, time_limit_s=limit_s, solver=None)
            other = plan.model_copy(update={"status": status, "search": search})
            assert bool(check(problem, other, shipped_profiles())) == (WITHOUT_PLAN.get(stopped) is not status)


def test_the_interrupted_have_no_answer():
    plan = solve(TWO_SERVICES).model_copy(
        update={"status": Status.TIMEOUT, "search": Search(stopped="interrupted", time_limit_s=1, solver=None)}
    )
    assert exit_code(plan) is Exit.NO_ANSWER
    assert "whether there is one is open" in plan_summary(plan, None)
    bounded = plan.model_copy(update={"gpus": (), "bound": Bound(cost_per_hour=3.43, gpus=1, method="-")})
    open_but = "whether there is one is open, but no plan costs less than $3.43 per hour."
    assert plan_summary(bounded, None).endswith(open_but)


def test_several_answers_end_with_what_says_most():
    assert best_of([Exit.REFUSED, Exit.NONE_FOUND, Exit.NO_ANSWER, Exit.NO_PLAN]) is Exit.NO_PLAN
    assert best_of([Exit.NO_PLAN, Exit.LIMITED]) is Exit.LIMITED
    assert best_of([Exit.REFUSED, Exit.NONE_FOUND, Exit.NO_ANSWER]) is Exit.NO_ANSWER
    assert best_of([Exit.REFUSED, Exit.NONE_FOUND]) is Exit.NONE_FOUND


def test_the_command_line_tells_them_apart(file, tmp_path):
    few = file({**shop().model_dump(mode="json"), "fleet": [{"gpu": "A100-80GB", "count": 3}]})
    found = {planner: sliceplan("solve", few, "--planner", planner) for planner in ("exact", "parvagpu", "igniter")}
    assert {name: done.returncode for name, done in found.items()} == {"exact": 0, "parvagpu": 6, "igniter": 4}
    assert json.loads(found["parvagpu"].stdout)["status"] == "none_found"
    assert json.loads(found["igniter"].stdout)["status"] == "refused"
    assert "needs 4 x A100-80GB and there are 3; another planner may need fewer" in found["parvagpu"].stderr
    table = sliceplan(
        "compare", few, "--planner", "parvagpu", "--planner", "igniter", env={"COLUMNS": "80", "PATH": ""}
    )
    assert table.returncode == 6
    rows = {line.split()[0]: line.rstrip() for line in table.stdout.splitlines()}
    assert rows["parvagpu"].endswith("none found")
    assert rows["igniter"].endswith("refused")
    plan = tmp_path / "refused.plan.json"
    sliceplan("solve", few, "--planner", "igniter", "-o", plan)
    assert sliceplan("check", few, plan).returncode == 4


def test_a_plan_file_of_before_there_were_these_words_is_read_and_claims_nothing(file, tmp_path):
    problem = shop().model_copy(
        update={"fleet": problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 300}], fleet=ONE_GPU).fleet}
    )
    old = solve(problem, "parvagpu").model_copy(update={"status": Status.INFEASIBLE})
    path = tmp_path / "old.plan.json"
    write_plan(old, path)
    shown = CliRunner().invoke(app, ["show", str(path)])
    assert shown.exit_code == 0
    assert "it is not proven that there is none" in " ".join(shown.stdout.split())
    checked = sliceplan("check", file(problem.model_dump(mode="json")), path)
    assert checked.returncode == 2
    assert "is heuristic_done, but status is infeasible: its search ended with infeasible" in checked.stderr


def test_reasons_that_are_the_same_are_said_once():
    plan = solve(problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 300}] * 9), "igniter")
    said = "igniter plans MPS, which no GPU type of the fleet allows; use exact"
    assert reasons(plan) == [f"w0, w1, w2 and 6 more: {said}"]
    assert len(json.loads(dump_plan(plan))["unserved"]) == 9


def test_free_partitions_that_a_planner_does_not_know_are_refused():
    spare = {"spare_gpu_loss": True}
    demo = shop()
    keeping = demo.model_copy(update={"settings": demo.settings.model_copy(update=spare)})
    rows = {plan.planner: plan.status for plan in compare(keeping, ["exact", "parvagpu"]).plans}
    assert rows == {"exact": Status.OPTIMAL, "parvagpu": Status.REFUSED}
