"""A plan says which version of sliceplan made it; one of before says nothing."""

import json
from importlib.metadata import version

import pytest
from problems.instances import ROOT
from support.command_line import sliceplan

from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import read_plan, write_plan
from sliceplan.solver.formats.problem_files import read_problem

DEMO = ROOT / "plans" / "demo.yaml"


@pytest.mark.parametrize("planner", ["exact", "parvagpu", "igniter"])
def test_a_plan_says_which_version_made_it(planner, tmp_path):
    """Also one that has no GPUs: igniter does not take the demo."""
    plan = solve(read_problem(DEMO), planner)
    assert plan.made_by == f"sliceplan {version('sliceplan')}"
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json") == plan


def test_a_plan_of_before_is_read_and_checked_all_the_same(tmp_path):
    plan = solve(read_problem(DEMO))
    data = json.loads(plan.model_dump_json())
    del data["made_by"]
    path = tmp_path / "before.plan.json"
    path.write_text(json.dumps(data))
    assert read_plan(path) == plan.model_copy(update={"made_by": None})
    done = sliceplan("check", DEMO, path)
    assert done.returncode == 0, done.stderr
    assert "made_by" not in done.stderr
