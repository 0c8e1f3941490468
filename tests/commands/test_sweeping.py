"""`sliceplan sweep`: its table, its files, its exit codes."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from problems.shop import SHOP
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.model.sweep_report import SweepReport
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
