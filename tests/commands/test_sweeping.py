"""`sliceplan sweep`: its table, its files, its exit codes."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from problems.shop import SHOP
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.commands.sweeping import _exit_code, _notes
from sliceplan.solver.model.objective import COST
from sliceplan.solver.model.sweep_report import SweepPoint, SweepReport
from sliceplan.solver.what_if import steps
from sliceplan.solver.workers import executors

DEMO = str(SHOP)


@pytest.fixture
def sweep(monkeypatch):
    """Returns a function that runs the command, with threads for workers."""

    @contextmanager
    def workers():
        with ThreadPoolExecutor(2) as executor:
            yield executors.Workers(executor, 2)

    monkeypatch.setattr(executors, "workers", workers)
    return lambda *arguments: CliRunner().invoke(app, ["sweep", *map(str, arguments)], env={"COLUMNS": "80"})


def test_the_table_has_a_row_for_each_stretch_and_what_forces_the_next(sweep):
    done = sweep(DEMO, "--axis", "rate=0.5:1.1:0.1")
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][:2] == ["rate", "$/h"]
    assert [row[:2] for row in rows[1:] if row[-1] == "A100-80GB"] == [["0.5", "6.86"]]
    assert any(row[:4] == ["0.6", "-", "1", "10.29"] for row in rows)
    assert any(row[:2] == ["1.1", "13.72"] and "+1" in row for row in rows)
    assert "7 points. Proven cheapest: 7." in done.stderr


def test_json_and_csv_hold_every_point_and_every_step(sweep, tmp_path):
    file = tmp_path / "sweep.csv"
    done = sweep(DEMO, "--axis", "rate=1,1.1", "--axis", "price:A100-80GB=3,4", "--json", "-", "--csv", file)
    report = SweepReport.model_validate(json.loads(done.stdout))
    assert [point.index for point in report.points] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert {step.dearer for step in report.steps} == {(1, 0), (1, 1)}
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [float(row["cost_per_hour"]) for row in rows] == [point.cost_per_hour for point in report.points]
    assert [row["rate"] for row in rows] == ["1.0", "1.0", "1.1", "1.1"]
    assert rows[2]["forced_by"].split() == list(report.steps[0].services)
    assert rows[0]["forced_by"] == ""
    assert [int(row["A100-80GB"]) for row in rows] == [sum(point.gpus.values()) for point in report.points]


def test_rises_are_not_explained_where_that_is_not_asked_for(sweep):
    done = sweep(DEMO, "--axis", "rate=1,1.1", "--no-explain", "--json", "-")
    assert json.loads(done.stdout)["steps"] == []
    assert "\nCosts are at " in f"\n{done.stderr}"
    done = sweep(DEMO, "--axis", "rate=1,1.1", "--no-explain", "--csv", "-")
    assert [row["rate"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["1.0", "1.1"]


def test_no_plan_at_any_point_is_exit_code_1_and_the_reason_is_shown(sweep):
    done = sweep(DEMO, "--axis", "count:A100-80GB=0,1")
    assert done.exit_code == 1
    assert "too few" in done.stdout
    assert "Without a plan: 2." in done.stderr


def test_wrong_axes_are_refused_together(sweep):
    done = sweep(DEMO, "--axis", "rte=1", "--axis", "price:A100=3")
    assert done.exit_code != 0
    assert "Did you mean 'rate'?" in str(done.exception)


def test_only_one_thing_can_go_to_stdout(sweep):
    done = sweep(DEMO, "--axis", "rate=1", "--json", "-", "--csv", "-")
    assert "only one of them" in str(done.exception)


def point(status="optimal", gap=0.0, cost=1.0, stopped="proved", retries=0):
    return SweepPoint(
        index=(0,),
        values=(1.0,),
        status=status,
        reason=None,
        stopped=stopped,
        cost_per_hour=cost,
        bound_per_hour=None,
        gap=gap,
        gpus={},
        runtime_s=1.0,
        retries=retries,
    )


NONE = point("infeasible", None, None, "infeasible")
LATE = point("timeout", None, None, "time_limit")
OPEN = point("feasible", 0.123, 2.0, "time_limit")


def report(*points, missing=0):
    return SimpleNamespace(points=points, missing=missing, objective=COST, steps=())


@pytest.mark.parametrize(
    ("points", "missing", "code"),
    [
        ([], 2, Exit.NO_ANSWER),
        ([point(), point()], 0, Exit.DONE),
        ([point(), NONE], 0, Exit.DONE),
        ([point()], 1, Exit.LIMITED),
        ([point(), OPEN], 0, Exit.LIMITED),
        ([point(), LATE], 0, Exit.LIMITED),
        ([NONE, LATE], 0, Exit.NO_PLAN),
        ([point(), point("failed", None, None, None)], 0, Exit.FAILED),
    ],
)
def test_a_sweep_is_done_where_no_point_is_missing_or_was_ended(points, missing, code):
    assert _exit_code(report(*points, missing=missing)) is code


@pytest.mark.parametrize(
    ("points", "missing", "lines"),
    [
        ([point(), point(), NONE], 0, ["3 points. Proven cheapest: 2. Without a plan: 1."]),
        ([point(), OPEN], 3, ["2 of 5 points. Proven cheapest: 1. The others are within 12.3%."]),
        ([point(), point("feasible", None)], 0, ["2 points. Proven cheapest: 1. The others are within 0.0%."]),
        ([point("feasible", None)], 0, ["1 points. Proven cheapest: 0."]),
        (
            [point(retries=1)],
            0,
            ["1 points. Proven cheapest: 1.", "1 time a point began anew because its worker was lost."],
        ),
        (
            [point(retries=1), point(retries=2)],
            0,
            ["2 points. Proven cheapest: 2.", "3 times a point began anew because its worker was lost."],
        ),
    ],
)
def test_a_sweep_says_how_many_points_are_proven_and_how_far_the_others_may_be(points, missing, lines):
    assert _notes(report(*points, missing=missing), explain=False) == lines


def test_rises_that_were_not_explained_are_counted_where_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(steps, "rising", lambda _points: [1, 2, 3])
    some = SimpleNamespace(points=(point(),), missing=0, objective=COST, steps=("one",))
    assert _notes(some, explain=True)[1:] == ["2 rises of the cost were not explained before the end."]
    assert _notes(some, explain=False)[1:] == []
    every = SimpleNamespace(points=(point(),), missing=0, objective=COST, steps=("one",) * 3)
    assert _notes(every, explain=True)[1:] == []
