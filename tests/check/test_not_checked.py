"""`sliceplan check` ends with what it takes on trust, of the plan at hand."""

from problems.instances import ROOT
from support.command_line import sliceplan

from sliceplan.solver.formats.plan_files import read_plan

DEMO = ROOT / "plans" / "demo.yaml"


def test_what_is_not_checked_is_listed_with_the_reason(tmp_path):
    plan = tmp_path / "plan.json"
    assert sliceplan("solve", DEMO, "-o", plan).returncode == 0
    assert read_plan(plan).insurance is None
    done = sliceplan("check", DEMO, plan)
    assert done.returncode == 0
    listed = done.stderr.split("Not checked:\n")[1]
    assert "  runtime_s " in listed
    assert "the proof is not repeated" in listed
    assert "insurance" not in listed
