"""What a plan says where its problem's objective is another one than its planner's."""

import subprocess
import sys

from problems.instances import ROOT

WITHOUT_A_PLAN = """
import sys
from pathlib import Path
from sliceplan.solver import api
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.planners.exact import Exact

def search_on(*_, **__):
    while True:
        pass

Exact.plan_from = search_on
problem = read_problem(Path(sys.argv[1]))
fleet = [one.model_copy(update={"count": 8}) for one in problem.fleet]
settings = problem.settings.model_copy(update={"objective": "capacity"})
problem = problem.model_copy(update={"fleet": tuple(fleet), "settings": settings})
plan = api.solve(problem, time_limit_s=0.1)
print(plan.search.stopped, plan.capacity is not None, any(name.startswith("ortools") for name in sys.modules))
"""


def test_what_is_known_of_most_capacity_in_time_is_said_without_a_solver_being_loaded():
    """It was loaded for this alone after the limit, which took seconds on a machine with other work."""
    command = [sys.executable, "-c", WITHOUT_A_PLAN, str(ROOT / "plans" / "demo.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["time_limit", "True", "False"], done.stderr
