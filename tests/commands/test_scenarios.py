"""`sliceplan scenarios`: its table, its files, its exit codes."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from problems.shop import SHOP
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.commands.scenarios import _asked, _exit_code, _notes
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.model.scenario_report import Optimum, PlannerAnswer, Scenario, ScenarioReport
from sliceplan.solver.what_if.scenarios import checking
from sliceplan.solver.workers import executors

DEMO = str(SHOP)
TWO = ("--planner", "parvagpu", "--planner", "whole-gpu")


@pytest.fixture
def scenarios(monkeypatch):
    """Returns a function that runs the command, with threads for workers."""

    @contextmanager
    def workers():
        with ThreadPoolExecutor(1) as executor:
            yield executors.Workers(executor, 1)

    monkeypatch.setattr(executors, "workers", workers)
    return lambda *arguments: CliRunner().invoke(app, ["scenarios", *map(str, arguments)], env={"COLUMNS": "80"})


def test_along_a_scale_the_table_says_how_far_each_planner_comes(scenarios, tmp_path):
    picture = tmp_path / "scale.svg"
    done = scenarios(DEMO, "--family", "scale=1,2,3,4", *TWO, "--svg", picture)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][:4] == ["up", "to", "holds", "to"]
    assert rows[1][:4] == ["the", "optimum", "3", "proven"]
    assert rows[2][:4] == ["parvagpu", "2", "2", "2"]
    assert rows[3][:4] == ["whole-gpu", "1", "1", "1"]
    assert "4 sets of rates on 8 GPUs. Possible: 3; proven impossible: 1; open: 0." in done.stderr
    texts = ["".join(one.itertext()) for one in ElementTree.parse(picture).getroot()]
    assert "the optimum: 3" in texts
    assert "parvagpu" in texts


def test_random_sets_are_counted_and_files_have_every_set(scenarios, tmp_path):
    file = tmp_path / "sets.csv"
    done = scenarios(DEMO, "--family", "random=3:1", *TWO, "--json", "-", "--csv", file)
    report = ScenarioReport.model_validate(json.loads(done.stdout))
    assert [one.index for one in report.scenarios] == [0, 1, 2]
    assert report.planners == ("parvagpu", "whole-gpu")
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [row["parvagpu"] for row in rows] == [one.answers[0].outcome for one in report.scenarios]
    counted = scenarios(DEMO, "--family", "random=3:1", *TWO, "--no-optimum")
    assert counted.stdout.splitlines()[0].split()[:3] == ["schedules", "holds", "breaks"]
    assert "Possible" not in counted.stderr


def test_a_run_goes_on_from_the_answers_that_were_kept(scenarios, tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    first = scenarios(DEMO, "--family", "scale=1,2", *TWO, "--keep", kept)
    from sliceplan.solver.what_if.scenarios import running

    monkeypatch.setattr(running, "answered", None)
    monkeypatch.setattr(running, "decided", None)
    again = scenarios(DEMO, "--family", "scale=1,2", *TWO, "--keep", kept)
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    other = scenarios(DEMO, "--family", "scale=1,3", *TWO, "--keep", kept)
    assert "answers another problem" in str(other.exception)


def test_what_does_not_go_is_refused(scenarios):
    done = scenarios(DEMO, "--family", "scale=1", "--factor", 1.2)
    assert "add --rules gpulets" in str(done.exception)
    done = scenarios(DEMO, "--family", "scale=1", "--rules", "gpulets")
    assert "is not a number of GPUs of one type under MPS" in str(done.exception)
    done = scenarios(DEMO, "--family", "scale=1", "--keep", "-")
    assert "so it needs a file" in str(done.exception)
    done = scenarios(DEMO, "--family", "scale=1", "--keep", DEMO)
    assert "demo.yaml: is read as well" in str(done.exception)
    done = scenarios(DEMO, "--family", "scale=1", "--planner", "parva")
    assert "'parva'" in str(done.exception)


def test_a_model_that_nobody_knows_is_no_planners_failure(scenarios, file):
    problem = yaml.safe_load(SHOP.read_text())
    problem["workloads"][0]["model"] = "resnett"
    done = scenarios(file(problem), "--family", "scale=1")
    assert "resnett" in str(done.exception)


def test_a_planner_that_refuses_is_no_line_of_zeros(scenarios):
    done = scenarios(DEMO, "--family", "random=1", "--planner", "sbp", "--planner", "parvagpu")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].split() == ["sbp", "-", "-", "-", "refused"]
    assert "refused: " in done.stderr


def answered(*outcomes, decided=None, reasons=("",) * 9):
    answers = tuple(
        PlannerAnswer(planner=f"p{i}", outcome=outcome, reason=reasons[i] or None) for i, outcome in enumerate(outcomes)
    )
    return Scenario(index=0, rates_rps=(1.0,), answers=answers, optimum=decided and Optimum(what=decided, by="bound"))


def reported(*some, missing=0, gpus=1):
    return SimpleNamespace(scenarios=some, missing=missing, planners=("p0", "p1"), gpus=gpus)


@pytest.mark.parametrize(
    ("some", "missing", "optimum", "code"),
    [
        ([], 2, True, Exit.NO_ANSWER),
        ([answered("holds", decided="possible"), answered("none", decided="impossible")], 0, True, Exit.DONE),
        ([answered("holds", decided="open")], 0, True, Exit.LIMITED),
        ([answered("holds", decided="open")], 0, False, Exit.DONE),
        ([answered("holds", decided="possible")], 1, True, Exit.LIMITED),
        ([answered("holds", decided="possible"), answered("none", "failed", decided="open")], 1, True, Exit.FAILED),
    ],
)
def test_scenarios_are_done_where_none_is_missing_or_open(some, missing, optimum, code):
    assert _exit_code(reported(*some, missing=missing), optimum) is code


def test_what_is_possible_and_what_failed_or_was_refused_is_said():
    some = [
        answered("holds", "refused", decided="possible", reasons=("", "too large")),
        answered("failed", "refused", decided="open", reasons=("no memory", "another")),
        answered("refused", "failed", "failed", decided="impossible", reasons=("zero", "too", "much")),
    ]
    possible = "Possible: 1; proven impossible: 1; open: 1."
    assert _notes(reported(*some, missing=2, gpus=3), True) == [
        f"3 of 5 sets of rates on 3 GPUs. {possible}",
        "3 times a planner failed; the first, p0: no memory",
        "refused: zero",
        "refused: another",
    ]
    assert _notes(reported(some[0]), False) == ["1 set of rates on 1 GPU.", "refused: too large"]


@pytest.mark.parametrize(("given", "factor"), [(None, 1.1), (1.5, 1.5)])
def test_under_gpulets_rules_latencies_have_its_published_factor_or_the_one_that_is_given(monkeypatch, given, factor):
    monkeypatch.setattr(checking, "checked", lambda asked: asked)
    monkeypatch.setattr(checking, "chosen_planners", lambda *_: ("gpulets",))
    asked = _asked(read_problem(SHOP), [], "scale=1", None, "gpulets", given, None, None)
    assert (asked.factor, asked.planners) == (factor, ("gpulets",))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--factor", "1.2"], "--factor: is of the rules of gpu-lets' scheduler: add --rules gpulets"),
        (["--keep", "-"], "--keep: is `-`; answers are read again from it, so it needs a file"),
    ],
)
def test_options_that_do_not_belong_are_refused(scenarios, words, message):
    assert str(scenarios(DEMO, "--family", "scale=1", *words).exception) == message
