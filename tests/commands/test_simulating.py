"""`sliceplan simulate` says what users would see, in words, JSON and CSV, and ends with what that means."""

import csv
import io
import json
from contextlib import nullcontext
from types import SimpleNamespace

import jsonschema
import pytest
from problems.instances import ROOT
from problems.simulated_plans import two_services
from support.command_line import assert_refused, sliceplan
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.commands import simulating
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.commands.simulating import WORTH_WORKERS, _crew, simulation_code
from sliceplan.solver.formats.plan_files import write_plan
from sliceplan.solver.formats.problem_files import write_problem
from sliceplan.solver.formats.schemas import schema_text
from sliceplan.solver.workers import executors

FEW = ("--requests", "5000")


@pytest.fixture
def files(tmp_path):
    """A problem and its plan: `a` at a load of 0.625 of its two partitions, `b` at 0.25."""
    problem, plan = two_services()
    write_problem(problem, tmp_path / "problem.yaml")
    write_plan(plan, tmp_path / "plan.json")
    return tmp_path / "problem.yaml", tmp_path / "plan.json"


def test_a_plan_that_holds_ends_with_0_and_a_row_a_service(files):
    done = sliceplan("simulate", *files, *FEW, "--load", "0.6")
    assert done.returncode == 0, done.stderr
    header, *rows = [line.split() for line in done.stdout.splitlines()]
    assert header == ["service", "SLO", "ms", "P50", "P95", "P99", "ms", "in", "time", "holds"]
    assert [row[0] for row in rows] == ["a", "b"]
    assert {row[-1] for row in rows} == {"yes"}
    assert "99 % of requests within the SLO: of 2 services 2 hold." in done.stderr


def test_a_plan_that_misses_ends_with_1_and_says_since_when(files):
    done = sliceplan("simulate", *files, *FEW, "--load", "1.7")
    assert done.returncode == 1
    assert "a is unstable from 0 s on: 425 requests/s come at A100-80GB/" in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_trace_is_simulated_and_a_lost_gpu_is_said(files, tmp_path):
    trace = tmp_path / "b.csv"
    trace.write_text("time\n" + "".join(f"{i / 100}\n" for i in range(1000)))
    done = sliceplan("simulate", *files, *FEW, "--arrivals", f"b=trace:{trace}", "--fail-gpu", "A100-80GB/1@2")
    assert done.returncode == 1
    assert "b has no partition left from 2 s on." in done.stderr


def test_json_is_of_its_schema_and_csv_has_the_same_figures(files, tmp_path):
    out = tmp_path / "report.json"
    done = sliceplan("simulate", *files, *FEW, "--json", out, "--csv", "-", "--quantile", "0.9")
    report = json.loads(out.read_text())
    jsonschema.validate(report, json.loads(schema_text("simulation")))
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["workload"] for row in rows] == [service["workload"] for service in report["services"]]
    assert float(rows[0]["p99_ms"]) == report["services"][0]["percentiles"][3]["latency_ms"]
    assert report["quantile"] == 0.9
    alone = sliceplan("simulate", *files, *FEW, "--json", "-", "--quantile", "0.9")
    assert json.loads(alone.stdout)["services"] == report["services"]


def test_everything_wrong_is_refused_with_2(files):
    assert_refused(
        sliceplan("simulate", *files, "--arrivals", "gamma", "--dispatch", "none", "--fail-gpu", "x"),
        "gamma is not understood",
        "none is no dispatch",
        "x is not understood",
    )
    assert_refused(sliceplan("simulate", *files, "--quantile", "0.5"), "quantile: is 0.5; expected a share above 0.5")
    to_stdout = sliceplan("simulate", *files, "--csv", "-", "--json", "-")
    assert_refused(to_stdout, "--csv and --json: are `-`; only one of them can go to stdout")
    other = ROOT / "plans" / "demo.plan.json"
    assert_refused(sliceplan("simulate", files[0], other), "the plan answers another problem")
    assert_refused(sliceplan("simulate", *files, "--json", files[0]), "is read as well")


def test_replications_go_on_from_what_was_kept(files, tmp_path):
    keep, out = tmp_path / "kept.jsonl", tmp_path / "report.json"
    for number in (1, 2):
        done = sliceplan(
            "simulate", *files, *FEW, "--load", "0.6", "--replications", number, "--keep", keep, "--json", out
        )
        assert done.returncode == 0, done.stderr
        assert len(keep.read_text().splitlines()) == 1 + number
    assert "2 repetitions of 2" in done.stderr
    jsonschema.validate(json.loads(out.read_text()), json.loads(schema_text("simulation")))
    assert_refused(sliceplan("simulate", *files, *FEW, "--keep", keep), "answers another problem or plan")


def test_another_router_than_the_plan_s_own_is_no_certificate():
    demo, plan = ROOT / "plans" / "demo.yaml", ROOT / "plans" / "demo.plan.json"
    done = sliceplan("simulate", demo, plan, "--requests", "20000", "--dispatch", "central")
    assert done.returncode == 3
    assert "Not certified: the plan is for dispatch weighted_round_robin, this is central." in done.stderr


def test_a_comparison_of_routers_says_what_a_better_one_saves(tmp_path):
    demo, out = ROOT / "plans" / "demo.yaml", tmp_path / "routers.json"
    done = sliceplan("compare", demo, "--routers", "--json", out)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()][1:] == [
        "random",
        "weighted_round_robin",
        "least_expected",
        "central",
    ]
    assert json.loads(out.read_text())["planned_for"] == "weighted_round_robin"
    assert_refused(sliceplan("compare", demo, "--routers", "--simulate"), "--simulate does not go with it")


def test_a_comparison_says_whose_plan_holds(tmp_path):
    demo = ROOT / "plans" / "demo.yaml"
    out = tmp_path / "comparison.json"
    done = sliceplan("compare", demo, "--planner", "exact", "--planner", "whole-gpu", "--simulate", "--json", out)
    assert done.returncode == 0, done.stderr
    simulations = json.loads(out.read_text())["simulations"]
    assert list(simulations) == ["exact", "whole-gpu"]
    line = next(line for line in done.stdout.split("\n\n")[1].splitlines() if line.startswith("whole-gpu"))
    holds = sum(service["holds"] == "yes" for service in simulations["whole-gpu"]["services"])
    assert line.split()[1] == str(holds)


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ({"services": ()}, Exit.NO_ANSWER),
        ({"holds": "no"}, Exit.NO_PLAN),
        ({"holds": "no", "stopped": "interrupted"}, Exit.NO_PLAN),
        ({}, Exit.DONE),
        ({"holds": "unsure"}, Exit.LIMITED),
        ({"stopped": "interrupted"}, Exit.LIMITED),
        ({"is_of_its_router": False}, Exit.LIMITED),
    ],
)
def test_only_a_whole_simulation_in_which_all_holds_is_done(report, code):
    whole = {"services": ("a",), "holds": "yes", "stopped": "done", "is_of_its_router": True}
    assert simulation_code(SimpleNamespace(**whole | report)) is code


@pytest.mark.parametrize(
    ("requests", "cluster", "given"),
    [(WORTH_WORKERS - 1, None, None), (WORTH_WORKERS, None, "crew"), (1, "tcp://node:8786", "crew")],
)
def test_workers_are_started_where_there_is_enough_to_do_or_a_cluster(monkeypatch, requests, cluster, given):
    if cluster is None:
        monkeypatch.delenv(executors.CLUSTER, raising=False)
    else:
        monkeypatch.setenv(executors.CLUSTER, cluster)
    monkeypatch.setattr(executors, "workers", lambda: nullcontext("crew"))
    with _crew(requests) as crew:
        assert crew == given


def test_an_interruption_before_any_replication_is_no_answer_and_kept_ones_need_a_file(files, monkeypatch):
    monkeypatch.setattr(simulating, "_repeated", lambda *_: None)
    done = CliRunner().invoke(app, ["simulate", *map(str, files), "--replications", "2"])
    assert (done.exit_code, done.output) == (Exit.NO_ANSWER, "Interrupted before the first replication.\n")
    done = CliRunner().invoke(app, ["simulate", *map(str, files), "--keep", "-"])
    assert str(done.exception) == "--keep: is `-`; replications are read again from it, so it needs a file"
