"""The front door has one list of names, each defined where the list says, and loads nothing until one is asked for."""

import subprocess
import sys

import pytest

from sliceplan.solver import api

CLASSES = ["Comparison", "Headroom", "Shedding", "SimulationSettings", "WrongPlanError", "WrongTransitionError"]
SOLVING = ["capacity", "check", "compare", "export_formats", "headroom"]
PLANNERS = ["planner_facts", "planner_names", "planner_sources", "planners_for", "plans_by_router"]
NAMES = [*CLASSES, *SOLVING, *PLANNERS, "price", "replan", "shed", "simulate", "solve", "transition"]


def test_the_list_of_public_names_is_kept():
    assert api.__all__ == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there(name):
    assert getattr(api, name).__name__ == name


def test_a_name_that_is_not_public_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'sovle'"):
        _ = api.sovle


def test_the_front_door_loads_nothing_until_it_is_asked():
    code = (
        "import sys, sliceplan.solver.api as api; before = [name for name in sys.modules if 'sliceplan.' in name]; "
        "api.export_formats; print(sorted(before), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "['sliceplan.solver', 'sliceplan.solver.api'] False"
