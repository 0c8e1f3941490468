"""Ctrl-C as a user presses it: the first ends a search with its best answer so far, the second gives it up."""

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys

import pytest
from problems.igniter_instances import random_mps_problem
from problems.instances import ROOT, second_type, two_type_problem
from support.command_line import sliceplan

from sliceplan.solver.commands.searching import searching
from sliceplan.solver.formats.profile_files import write_profiles

SLICEPLAN = [sys.executable, "-W", "error", "-m", "sliceplan.solver.cli"]


def problem_with_few_gpus():
    """Returns services of different values on six tenths of the GPUs that they need."""
    problem = two_type_problem(1000, seed=2)
    draw = random.Random(1)
    fleet = tuple(entry.model_copy(update={"count": int(entry.count * 0.6)}) for entry in problem.fleet)
    workloads = tuple(one.model_copy(update={"value": draw.uniform(1, 10)}) for one in problem.workloads)
    return problem.model_copy(update={"fleet": fleet, "workloads": workloads})


def mps_problem():
    """Returns 100 different services on 20 GPUs under MPS, of which iGniter needs 29."""
    problem = random_mps_problem(100, 0)
    fleet = tuple(entry.model_copy(update={"count": 20}) for entry in problem.fleet)
    return problem.model_copy(update={"fleet": fleet})


@pytest.fixture
def folder(tmp_path):
    """Returns a folder with problems whose searches go on for all of their time limits, and the profiles for them."""
    problems = {
        "many": two_type_problem(500, seed=2),
        "few_gpus": problem_with_few_gpus(),
        "mps": mps_problem(),
        "open": random_mps_problem(100, 0),
    }
    for name, problem in problems.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(problem.model_dump(mode="json")))
    write_profiles(second_type(), tmp_path / "second.yaml")
    return tmp_path


def interrupted(folder, *arguments, when):
    """Runs a command on a terminal, interrupts it when it shows a text; returns its exit code, stdout and stderr."""
    command = [*SLICEPLAN, *arguments, "--time-limit", "100", "--profiles", "second.yaml"]
    ours, theirs = pty.openpty()
    out = folder / "stdout.txt"
    with out.open("w") as stdout:
        process = subprocess.Popen(
            command, cwd=folder, stdout=stdout, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "200"}
        )
    os.close(theirs)
    shown, is_interrupted = "", False
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        while True:
            try:
                shown += terminal.read(4096).decode(errors="replace")
            except OSError:  # the process has closed its end
                break
            if not is_interrupted and re.search(when, shown):
                process.send_signal(signal.SIGINT)
                is_interrupted = True
    code = process.wait(30)
    assert is_interrupted, shown
    return code, out.read_text(), shown


def assert_holds(folder, problem, plan):
    done = sliceplan("check", folder / problem, folder / plan, "--profiles", folder / "second.yaml")
    assert done.returncode == 0, done.stderr


def test_compare_shows_the_planners_that_had_their_turn(folder):
    planners = ("--planner", "igniter", "--planner", "exact", "--planner", "ffd")
    code, out, shown = interrupted(folder, "compare", "open.json", *planners, "--json", "-", when="exact: a plan of")
    assert code == 3, shown
    data = json.loads(out)
    first, second = data["planners"]
    assert (first["planner"], first["search"]["stopped"]) == ("igniter", "heuristic_done")
    assert (second["planner"], second["search"]["stopped"]) == ("exact", "interrupted")
    assert 0 < second["gap_to_best_bound"] < 0.5
    assert data["not_run"] == ["ffd"]
    assert "Not run: ffd." in shown


def test_price_prices_the_best_plan_so_far(folder):
    code, out, shown = interrupted(folder, "price", "open.json", "--json", "-", when=r"exact: a plan of")
    assert code == 3, shown
    data = json.loads(out)
    assert sum(service["usd_per_hour"] for service in data["services"]) == pytest.approx(data["cost_per_hour"])
    assert data["cost_per_hour"] > data["bound"]["cost_per_hour"] > 0


@pytest.mark.parametrize("problem", ["many", "mps"])
def test_headroom_has_the_factor_that_is_known_to_fit_and_a_plan_for_it(folder, problem):
    outputs = ("-o", "plan.json", "--problem-output", "grown.json")
    code, out, shown = interrupted(folder, "headroom", f"{problem}.json", *outputs, when=r"headroom: .* times")
    assert code == 3, shown
    factor = float(re.search(r"[\d.]+\d", out)[0])
    grown, before = (json.loads((folder / name).read_text()) for name in ("grown.json", f"{problem}.json"))
    rates = [data["workloads"][0]["rate_rps"] for data in (before, grown)]
    assert rates[1] == pytest.approx(factor * rates[0], rel=1e-3)
    assert factor > 0.5
    assert_holds(folder, "grown.json", "plan.json")


@pytest.mark.parametrize("problem", ["few_gpus", "mps"])
def test_shed_leaves_out_what_is_known_to_make_the_rest_fit(folder, problem):
    outputs = ("-o", "plan.json", "--problem-output", "rest.json")
    when = r"shed: [1-9]\d* of \d+ services fit"
    code, out, shown = interrupted(folder, "shed", f"{problem}.json", *outputs, when=when)
    assert code == 3, shown
    left_out = set(re.findall(r"leave out (\S+),", out))
    rest, before = (
        {workload["name"] for workload in json.loads((folder / name).read_text())["workloads"]}
        for name in ("rest.json", f"{problem}.json")
    )
    assert rest == before - left_out
    assert 0 < len(left_out) < len(before) / 2
    assert "proven: no choice loses less" in shown
    assert_holds(folder, "rest.json", "plan.json")


def test_sweep_keeps_the_points_that_are_solved(folder):
    demo = str(ROOT / "plans" / "demo.yaml")
    arguments = ("--axis", "rate=0.5:2.5:0.005", "--json", "-")
    code, out, shown = interrupted(folder, "sweep", demo, *arguments, when=r"[1-9]\d* of 401 points")
    assert code == 3, shown
    report = json.loads(out)
    assert len(report["points"]) + report["missing"] == 401
    assert 0 < len(report["points"]) < 300
    assert all(point["status"] == "optimal" for point in report["points"])
    assert "Traceback" not in shown


def test_the_second_ctrl_c_is_as_without_a_search():
    with searching("searching"):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_an_interruption_that_is_meant_ends_the_command_line_with_130():
    code = "import sliceplan.solver.cli as cli\ndef app(): raise KeyboardInterrupt\ncli.app = app\ncli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted; no file is left half-written\n")


PRINTING = """
import ctypes, os, sys
from sliceplan.solver.commands.searching import searching

c = ctypes.CDLL(None)
c.puts(b"before")
c.fflush(None)
with searching("a search"):
    c.puts(b"a solver's line")
    os.write(1, b"another\\n")
    print("progress", file=sys.stderr)
print("the answer")
"""


def test_what_solvers_print_is_no_part_of_an_answer_on_stdout():
    done = subprocess.run([sys.executable, "-c", PRINTING], capture_output=True, text=True, check=True)
    assert done.stdout == "before\nthe answer\n"
    assert done.stderr == "progress\n"


def test_a_search_may_have_its_stdout_closed():
    script = PRINTING.replace('os.write(1, b"another\\n")', "pass")
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "progress\n"
