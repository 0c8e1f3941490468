"""What the commands for fleets of fixed size say of answers that prove little."""

import json

import pytest
from problems.instances import ROOT
from support.command_line import assert_refused, sliceplan
from typer.testing import CliRunner

from sliceplan.solver import api
from sliceplan.solver.api import counted_fleets
from sliceplan.solver.cli import app
from sliceplan.solver.commands.capacity_table import capacity_table
from sliceplan.solver.model.capacity_report import CapacityReport, HeadroomReport, ServiceCapacity


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


def test_capacity_needs_counts_and_one_kind_of_fleet(tmp_path):
    file = tmp_path / "problem.yaml"
    file.write_text(DEMO.read_text().replace("sharing: [mig]", "sharing: [mig, mps]"))
    assert_refused(sliceplan("capacity", file), "under MPS alone, or without it; A100-80GB may be divided otherwise")
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
