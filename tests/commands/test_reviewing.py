"""What `check` and `show` say of plans that are not whole, and what they end with."""

import json

import pytest
from problems.instances import ROOT
from problems.small_problem import GOOD, changed
from typer.testing import CliRunner

from sliceplan.solver.cli import app

DEMO, PLAN = ROOT / "plans" / "demo.yaml", ROOT / "plans" / "demo.plan.json"


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_a_plan_that_holds_is_said_to_be_recomputed_and_what_is_not_checked():
    done = run("check", DEMO, PLAN)
    assert done.exit_code == 0
    first, second, *rest = done.stderr.splitlines()
    assert first == f"{PLAN} holds: all that it states was recomputed from the problem and the profiles."
    assert second == "Not checked:"
    assert rest


def test_a_plan_without_gpus_ends_with_the_code_of_its_status(file, tmp_path):
    problem, plan = file(changed(["workloads", 0, "slo_ms"], 1)), tmp_path / "plan.json"
    assert run("solve", problem, "-o", plan).exit_code == 1
    done = run("check", problem, plan)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[0] == f"{plan} has no GPUs: its status is infeasible."


def test_a_problem_that_no_planner_could_take_is_refused_before_its_plan_is_looked_at(file, tmp_path):
    plan = tmp_path / "plan.json"
    assert run("solve", file(GOOD), "-o", plan).exit_code == 0
    done = run("check", file(changed(["fleet", 0, "gpu"], "A30-24GB")), plan)
    assert "fleet[0].price_per_hour is missing" in str(done.exception)


def test_gpus_that_the_catalogue_has_not_are_not_drawn(file):
    text = PLAN.read_text().replace("A100-80GB", "B7-1GB")
    done = run("show", file(json.loads(text), "plan.json"))
    assert "gpus types not in the catalogue: B7-1GB" in str(done.exception)


@pytest.mark.parametrize(("most", "more"), [(2, "… and 2 GPUs more"), (4, None)])
def test_at_most_so_many_gpus_are_drawn_as_are_asked_for(most, more):
    done = run("show", PLAN, "--most", most)
    assert done.stdout.count("A100-80GB/") == most
    assert ("more" in done.stdout.partition("per hour")[0]) == (more is not None)
    assert more is None or more in done.stdout
