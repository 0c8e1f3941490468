"""Long searches say how far they are."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress

from problems.igniter_instances import random_mps_problem
from problems.instances import random_problem, second_type, two_type_problem

from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import write_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.judged import Judged
from sliceplan.solver.model.objective import COST, SOLO_CAPACITY
from sliceplan.solver.runtime.progress import listening, report
from sliceplan.solver.wording.summary import so_far_in_words


def test_migserving_reports_each_generation_with_gpus_that_never_rise():
    heard = []
    with listening(lambda said: heard.append(said.text)):
        plan = solve(random_problem(12, seed=1), "migserving-slow")
    gpus = [int(re.search(r"generation \d+, (\d+) GPUs", text)[1]) for text in heard]
    assert gpus == sorted(gpus, reverse=True)
    assert gpus[-1] == plan.gpus_used


def test_exact_reports_its_bound_and_its_first_plan():
    heard = []
    with listening(lambda said: heard.append(said.text)):
        solve(two_type_problem(60, seed=1), profiles=[*shipped_profiles(), *second_type()], time_limit_s=2)
    assert heard[0].startswith("exact: no plan costs less than $")
    assert any("a plan of $" in text for text in heard)


def test_nobody_need_listen():
    report("to the wind")


def test_a_terminal_shows_the_best_plan_so_far_and_ctrl_c_ends_with_it(tmp_path):
    """The search of this problem goes on for its whole time limit."""
    problem, plan = tmp_path / "problem.yaml", tmp_path / "plan.json"
    write_problem(random_mps_problem(300, 0), problem)
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "sliceplan.solver.cli", "solve", problem, "--time-limit", "60", "-o", plan]
    with subprocess.Popen(command, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "200"}) as running:
        os.close(theirs)
        shown = ""
        while "so far: $" not in shown:
            shown += os.read(ours, 4096).decode()
        running.send_signal(signal.SIGINT)
        with suppress(OSError):  # the end of a terminal
            while read := os.read(ours, 4096):
                shown += read.decode()
    os.close(ours)
    assert running.returncode == 3
    assert "found after" in shown
    assert read_plan(plan).search.stopped == "interrupted"


def test_how_good_a_plan_so_far_is_in_words():
    assert so_far_in_words(Judged(COST, 138.57, 136.12, 138.57 / 136.12 - 1), 2.53) == (
        "$138.57 per hour, at most 1.8 % above the cheapest possible ($136.12), found after 2.5 s"
    )
    assert so_far_in_words(Judged(SOLO_CAPACITY, 7.5, 10, 0.25), 1) == (
        "7.500 GPUs' worth, at most 25.0 % below the most possible (10.000), found after 1.0 s"
    )
    assert so_far_in_words(Judged(COST, 91.8, None, None), 0.31) == (
        "$91.80 per hour, nothing proven about its cost yet, found after 0.3 s"
    )
