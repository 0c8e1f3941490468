"""What the commands for fleets of fixed size say of answers that prove little."""

import json

import pytest
from problems.instances import ROOT
from support.command_line import assert_refused, sliceplan
from typer.testing import CliRunner

from sliceplan.solver import api
from sliceplan.solver.api import counted_fleets
from sliceplan.solver.cli import app
from sliceplan.solver.model.capacity_report import HeadroomReport


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
    done = sliceplan("capacity", DEMO, "--weights", "solo", "-o", plan, "--json", report)
    assert done.returncode == 0
    assert "quality-check" in done.stdout
    found = json.loads(report.read_text())
    assert found["gap"] == 0
    assert f"All could carry {found['capacity']:,.3f} GPUs' worth together" in done.stderr
    assert "Proven: no plan could carry more than" in done.stderr
    assert found["one_more"]["A100-80GB"] >= found["limit"]
    assert all(one["capacity_rps"] >= one["rate_rps"] * (1 - 1e-9) for one in found["services"])
    assert sliceplan("check", DEMO, plan).returncode == 0
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


def test_capacity_needs_counts_and_no_mps(tmp_path):
    file = tmp_path / "problem.yaml"
    file.write_text(DEMO.read_text().replace("sharing: [mig]", "sharing: [mig, mps]"))
    assert_refused(sliceplan("capacity", file), "allows mps; capacity knows mig and exclusive")
    unlimited = DEMO.read_text().split("  nodes:")[0] + "workloads:" + DEMO.read_text().split("workloads:")[1]
    file.write_text(unlimited)
    assert_refused(sliceplan("capacity", file), "fleet[0].count", "is missing")
