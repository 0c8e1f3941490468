"""Long searches say how far they are."""

import re

from instances import random_problem, second_type, two_type_problem

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.progress import listening, report


def test_migserving_reports_each_generation_with_gpus_that_never_rise():
    heard = []
    with listening(heard.append):
        plan = solve(random_problem(12, seed=1), "migserving-slow")
    gpus = [int(re.search(r"generation \d+, (\d+) GPUs", text)[1]) for text in heard]
    assert gpus == sorted(gpus, reverse=True)
    assert gpus[-1] == plan.gpus_used


def test_exact_reports_its_bound_and_its_first_plan():
    heard = []
    with listening(heard.append):
        solve(two_type_problem(60, seed=1), profiles=[*shipped_profiles(), *second_type()], time_limit_s=2)
    assert heard[0].startswith("exact: no plan costs less than $")
    assert any("a plan of $" in text for text in heard)


def test_nobody_need_listen():
    report("to the wind")
