"""What the commands for fleets of fixed size say of answers that prove little."""

import json

import pytest
from problems.instances import ROOT
from support.command_line import assert_refused, sliceplan
from typer.testing import CliRunner

from sliceplan.solver import api
from sliceplan.solver.analysis.grown_rates import SMALLEST
from sliceplan.solver.api import counted_fleets
from sliceplan.solver.cli import app
from sliceplan.solver.commands.capacity_table import capacity_table
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.model.capacity_report import CapacityReport, HeadroomReport, ServiceCapacity, Shed, ShedReport
from sliceplan.solver.model.plan import Status


@pytest.mark.parametrize(
    ("limit", "code", "message"),
    [
        (None, 5, "No factor was found that fits; allow more time."),
        (1.0, 5, "No factor was found that fits; allow more time."),
        (1e-7, 1, "Nothing fits, at any rate."),
    ],
)
def test_nothing_fits_only_where_the_least_factor_is_proven_too_much(monkeypatch, limit, code, message):
    report = HeadroomReport(factor=None, factor_limit=limit, first_short=None)
    monkeypatch.setattr(counted_fleets, "headroom", lambda *_, **__: api.Headroom(report, None, None))
    done = CliRunner().invoke(app, ["headroom", str(ROOT / "plans" / "demo.yaml")])
    assert done.exit_code == code
    assert done.stdout == f"{message}\n"


DEMO = ROOT / "plans" / "demo.yaml"
PROBLEM, PLAN = read_problem(DEMO), read_plan(ROOT / "plans" / "demo.plan.json")


def ended(stopped, **changed):
    """Returns a plan whose search ended so."""
    return PLAN.model_copy(update={"search": PLAN.search.model_copy(update={"stopped": stopped}), **changed})


@pytest.fixture
def found(monkeypatch):
    """Returns a function that runs a command which finds this, without a search."""

    def run(command, outcome, *arguments):
        monkeypatch.setattr(counted_fleets, command, lambda *_, **__: outcome)
        return CliRunner().invoke(app, [command, str(DEMO), *map(str, arguments)])

    return run


@pytest.mark.parametrize(
    ("factor", "limit", "short", "stopped", "code", "out", "proven"),
    [
        (1.0, 1.00001, None, "proved", 0, "All rates can grow to 1.00000 times what they are.", "1.00001 times is too"),
        (1.5, 1.5, "a", "proved", 0, "All rates can grow to 1.50000 times", "too much, because of the limits of a."),
        (
            0.5,
            0.6,
            None,
            "time_limit",
            3,
            "The GPUs are too few: 0.50000 times",
            "Proven: 0.60000 times is too much.\n",
        ),
        (0.5, None, None, "time_limit", 3, "The GPUs are too few: 0.50000 times", "Nothing is proven about more;"),
        (0.5, 0.5, None, "interrupted", 3, "The GPUs are too few: 0.50000 times", "Proven: 0.50000 times is too much."),
        (5e-7, 6e-7, None, "proved", 3, "The GPUs are too few: 0.00000 times", "Proven: 0.00000 times is too much."),
    ],
)
def test_headroom_is_done_where_more_is_proven_too_much(found, factor, limit, short, stopped, code, out, proven):
    report = HeadroomReport(factor=factor, factor_limit=limit, first_short=short)
    done = found("headroom", api.Headroom(report, PROBLEM, ended(stopped)))
    assert done.exit_code == code
    assert done.stdout.startswith(out)
    assert proven in done.stderr
    assert "4 GPUs, $13.72" in done.stderr


def test_nothing_fits_where_the_limit_is_the_least_factor_itself(found):
    report = HeadroomReport(factor=None, factor_limit=SMALLEST, first_short=None)
    assert found("headroom", api.Headroom(report, None, None)).exit_code == 1


@pytest.mark.parametrize(
    ("lost", "least", "stopped", "code", "lines"),
    [
        (0, 0, "proved", 0, "Nothing need be left out: all services fit.\n"),
        (2, 2, "proved", 0, "leave out a, value 2\nValue lost: 2; proven: no choice loses less.\n"),
        (2, 1, "time_limit", 3, "leave out a, value 2\nValue lost: 2; proven: no choice loses less than 1.\n"),
        (2, 2 - 5e-10, "proved", 0, "leave out a, value 2\nValue lost: 2; proven: no choice loses less.\n"),
        (2, 2 - 5e-9, "proved", 3, "leave out a, value 2\nValue lost: 2; proven: no choice loses less than 2.\n"),
        (2, 2, "interrupted", 3, "leave out a, value 2\nValue lost: 2; proven: no choice loses less.\n"),
        (2, 2, None, 0, "leave out a, value 2\nValue lost: 2; proven: no choice loses less.\n"),
        (2, 1, None, 5, "No services were found that fit together; allow more time.\n"),
    ],
)
def test_shed_is_done_where_no_choice_loses_less(found, lost, least, stopped, code, lines):
    shed = (Shed(workload="a", value=lost),) if lost else ()
    report = ShedReport(value_lost=lost, least_value_lost=least, shed=shed)
    plan = None if stopped is None else ended(stopped)
    done = found("shed", api.Shedding(report, plan and PROBLEM, plan))
    assert done.exit_code == code
    assert done.output.startswith(lines)
    assert ("4 GPUs, $13.72" in done.stderr) == (plan is not None)


@pytest.mark.parametrize("command", ["headroom", "shed"])
def test_what_was_found_is_written_and_no_file_where_nothing_was(found, tmp_path, command):
    plan, stated = tmp_path / "plan.json", tmp_path / "stated.yaml"
    options = ("-o", plan, "--problem-output", stated)
    none = {
        "headroom": api.Headroom(HeadroomReport(factor=None, factor_limit=None, first_short=None), None, None),
        "shed": api.Shedding(ShedReport(value_lost=1, least_value_lost=1, shed=()), None, None),
    }[command]
    assert found(command, none, *options).exit_code in (0, 5)
    assert list(tmp_path.iterdir()) == []
    some = type(none)(none.report, PROBLEM, PLAN)
    found(command, some, *options)
    assert (read_plan(plan), read_problem(stated)) == (PLAN, PROBLEM)


@pytest.mark.parametrize(
    ("stopped", "changed", "code", "said"),
    [
        ("proved", {}, 0, "All could carry 20.0 requests/s together"),
        ("time_limit", {}, 3, "All could carry 20.0 requests/s together"),
        ("interrupted", {}, 3, "All could carry 20.0 requests/s together"),
        ("infeasible", {"gpus": (), "status": Status.INFEASIBLE}, 1, "Proven: these GPUs do not carry the rates"),
        ("time_limit", {"gpus": (), "status": Status.TIMEOUT}, 5, "No plan was found within"),
        ("gap_left", {"gpus": (), "status": Status.NONE_FOUND}, 6, "exact found no plan, and it is not proven that"),
    ],
)
def test_capacity_ends_as_its_plan_does(found, stopped, changed, code, said):
    service = ServiceCapacity(workload="a", rate_rps=10, capacity_rps=20)
    report = CapacityReport(weights="equal", capacity=20, limit=20, gap=0, services=(service,), one_more={})
    done = found("capacity", counted_fleets.Capacity(report, PROBLEM, ended(stopped, **changed)))
    assert done.exit_code == code
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == (2 if code in (0, 3) else 1)
    assert ("capacity (requests/s)" in done.stdout) == (code in (0, 3))


def test_capacity_is_shown_proven_and_written(tmp_path):
    plan, report = tmp_path / "most.plan.json", tmp_path / "most.json"
    stated = tmp_path / "most.yaml"
    done = sliceplan("capacity", DEMO, "--weights", "solo", "-o", plan, "--json", report, "--problem-output", stated)
    assert done.returncode == 0
    assert "quality-check" in done.stdout
    found = json.loads(report.read_text())
    assert found["gap"] == 0
    assert f"All could carry {found['capacity']:,.3f} GPUs' worth together" in done.stderr
    assert "Proven: no plan could carry more than" in done.stderr
    assert found["one_more"]["A100-80GB"] >= found["limit"]
    assert all(one["capacity_rps"] >= one["rate_rps"] * (1 - 1e-9) for one in found["services"])
    checked = sliceplan("check", stated, plan)
    assert checked.returncode == 0
    assert "no MIG or whole GPU of the plan does" in checked.stderr
    assert f"could carry {found['capacity']:,.3f} GPUs' worth: proven most possible" in sliceplan("show", plan).stdout
    partitions = [
        served["promised_rps"] or served["capacity_rps"]
        for gpu in json.loads(plan.read_text())["gpus"]
        for partition in gpu["partitions"]
        for served in partition["serves"]
    ]
    assert sum(partitions) == pytest.approx(sum(one["capacity_rps"] for one in found["services"]))


def test_capacity_of_too_few_gpus_is_proven_to_be_none(tmp_path):
    small = tmp_path / "small.yaml"
    small.write_text(DEMO.read_text().replace("count: 4", "count: 1"))
    done = sliceplan("capacity", small)
    assert done.returncode == 1
    assert "Proven: these GPUs do not carry the rates" in done.stderr


def test_solve_and_compare_look_for_what_the_settings_state(tmp_path):
    asked, plan = tmp_path / "asked.yaml", tmp_path / "plan.json"
    asked.write_text(DEMO.read_text().replace("settings:", "settings:\n  objective: capacity"))
    assert "objective: capacity" in asked.read_text()
    done = sliceplan("solve", asked, "-o", plan)
    assert done.returncode == 0
    assert "requests/s: proven most possible, at" in done.stderr
    assert json.loads(plan.read_text())["capacity"]["gap"] == 0
    compared = sliceplan(
        "compare", asked, "--planner", "exact", "--planner", "whole-gpu", "--json", tmp_path / "c.json"
    )
    assert compared.returncode == 0
    assert "capacity" in compared.stdout.split("\n")[0]
    assert "Proven: no plan could carry more than" in compared.stderr
    rows = {row["planner"]: row for row in json.loads((tmp_path / "c.json").read_text())["planners"]}
    assert rows["exact"]["gap_to_best_bound"] == 0
    assert rows["whole-gpu"]["gap_to_best_bound"] == pytest.approx(
        1 - rows["whole-gpu"]["capacity"]["value"] / rows["exact"]["capacity"]["limit"]
    )


def test_capacity_needs_counts(tmp_path):
    file = tmp_path / "problem.yaml"
    unlimited = DEMO.read_text().split("  nodes:")[0] + "workloads:" + DEMO.read_text().split("workloads:")[1]
    file.write_text(unlimited)
    assert_refused(sliceplan("capacity", file), "fleet[0].count", "is missing")


def test_the_table_of_capacities_is_in_columns_also_of_wide_letters():
    of = [("detector", 10.0, 1234.5), ("検出器", 0.0, 7.0)]
    # What files hold are names; people are shown labels, which are not validated again.
    build = ServiceCapacity.model_construct
    services = tuple(build(workload=name, rate_rps=rate, capacity_rps=most) for name, rate, most in of)
    report = CapacityReport.model_construct(services=services)
    assert capacity_table(report).splitlines() == [
        "service   rate (requests/s)  capacity (requests/s)  times the rate",
        "detector               10.0                1,234.5          123.45",
        "検出器                  0.0                    7.0               -",
    ]
