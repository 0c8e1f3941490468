"""Commands load what they need and no more: what is not needed takes a second for each start."""

import json
import subprocess
import sys

import pytest
from problems.instances import ROOT

HEAVY = ("numpy", "scipy", "scipy.optimize", "ortools", "pandas", "pulp", "highspy", "distributed", "streamlit")
DEMO, ITS_PLAN = ROOT / "plans" / "demo.yaml", ROOT / "plans" / "demo.plan.json"
CODE = f"""
import sys
from sliceplan.solver.starting import sliceplan
try:
    sliceplan()
finally:
    import json
    print(json.dumps([name for name in {HEAVY} if name in sys.modules]), file=sys.stderr)
"""


def loaded(*arguments):
    """Returns which heavy modules a command has loaded when it ends."""
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("problem", ["mixed", "igniter", "cpus"])
def test_to_solve_numpy_and_ortools_are_enough(problem):
    assert loaded("solve", ROOT / "plans" / f"{problem}.yaml") == ["numpy", "ortools"]


def test_to_plan_for_changed_rates_and_a_way_there_they_are_enough_too(tmp_path):
    """SciPy's solvers, which take half as long again to load, are for nobody who replans."""
    now = tmp_path / "plan.json"
    assert loaded("replan", DEMO, "--running", ITS_PLAN, "-o", now) == ["numpy", "ortools"]
    assert loaded("transition", ITS_PLAN, now) == ["numpy", "ortools"]


def test_all_planners_are_known_without_scipys_solvers_and_or_tools():
    """As they are for a comparison; what fits coefficients is not for planners."""
    assert not {"scipy", "scipy.optimize", "ortools"} & set(loaded("planners"))


def test_a_heuristic_needs_no_solver():
    assert loaded("solve", DEMO, "--planner", "best-split") == ["numpy"]


def test_to_check_needs_no_solver():
    assert loaded("check", DEMO, ITS_PLAN) == ["numpy"]


@pytest.mark.parametrize(
    "arguments", [["show", ITS_PLAN], ["gpus"], ["schema", "plan"], ["--help"]], ids=lambda of: of[0]
)
def test_to_show_needs_nothing(arguments):
    assert loaded(*arguments) == []
