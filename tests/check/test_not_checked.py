"""`sliceplan check` ends with what it takes on trust, of the plan at hand."""

from types import SimpleNamespace

from problems.instances import ROOT
from support.command_line import sliceplan

from sliceplan.solver.check.not_checked import NOT_CHECKED, TOP, not_checked
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


def test_reasons_stand_in_one_column_and_what_a_plan_does_not_say_is_left_out():
    given = dict.fromkeys({TOP.split(path)[0] for path in NOT_CHECKED}, "x") | {"prices": None}
    lines = not_checked(SimpleNamespace(**given)).splitlines()
    reasons = [reason for path, reason in NOT_CHECKED.items() if path != "prices"]
    begins = {line.index(reason) for line, reason in zip(lines, reasons, strict=True)}
    assert begins == {4 + max(map(len, NOT_CHECKED))}
