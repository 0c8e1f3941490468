"""What `price` says and ends with where prices, or what services cost, are not known."""

import json

import pytest
from problems.instances import ROOT
from typer.testing import CliRunner

from sliceplan.solver.api import pricing
from sliceplan.solver.cli import app
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.comparison.rows import NO_TIME_FOR_SERVICES
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.plan import Status, Unserved
from sliceplan.solver.model.price_report import PriceReport
from sliceplan.solver.model.stop_reason import StopReason

DEMO = ROOT / "plans" / "demo.yaml"
PLAN = read_plan(ROOT / "plans" / "demo.plan.json")
REPORT = PriceReport(cost_per_hour=13.72, unattributed_usd_per_hour=1.5, services=())


def plan(status=Status.OPTIMAL, stopped="proved", **changed):
    search = PLAN.search.model_copy(update={"stopped": StopReason(stopped)})
    return PLAN.model_copy(update={"status": status, "search": search, **changed})


@pytest.fixture
def price(monkeypatch):
    """Returns a function that runs the command, which finds a plan and what its services cost."""

    def run(found, report, *arguments):
        monkeypatch.setattr(pricing, "price", lambda *_, **__: (found, report))
        return CliRunner().invoke(app, ["price", str(DEMO), *map(str, arguments)])

    return run


@pytest.mark.parametrize("missing", ["prices", "cost_per_hour"])
def test_without_prices_it_ends_as_its_plan_does(price, missing, tmp_path):
    none = {"gpus": (), "unserved": (Unserved(workload="detector", reason="no room"),), missing: None}
    found = plan(Status.TIMEOUT, "time_limit", **none)
    done = price(found, None, "--json", tmp_path / "prices.json")
    assert (done.exit_code, done.stdout) == (Exit.NO_ANSWER, "")
    first, second = done.stderr.splitlines()
    assert first == "  detector: no room"
    assert second.startswith("No plan was found within the time limit")
    assert list(tmp_path.iterdir()) == []


def test_where_no_time_was_left_for_services_partitions_are_priced_and_that_is_said(price, tmp_path):
    done = price(plan(), None, "--json", tmp_path / "prices.json")
    assert done.exit_code == Exit.LIMITED
    assert "4g.40gb" in done.stdout
    assert done.stderr.endswith(f"What services cost is not known: {NO_TIME_FOR_SERVICES}\n")
    data = json.loads((tmp_path / "prices.json").read_text())
    assert (data["services"], data["services_error"]) == (None, NO_TIME_FOR_SERVICES)
    assert data["cost_per_hour"] == PLAN.cost_per_hour


@pytest.mark.parametrize(
    ("shared", "adding"), [({}, "whole GPUs add"), ({"A100-80GB": 3.43}, "whole GPUs and neighbours add")]
)
@pytest.mark.parametrize(("stopped", "code"), [("proved", Exit.DONE), ("time_limit", Exit.LIMITED)])
def test_what_no_service_pays_for_is_said(price, shared, adding, stopped, code):
    found = plan(stopped=stopped, prices=PLAN.prices.model_copy(update={"shared": shared}))
    done = price(found, REPORT)
    assert done.exit_code == code
    summary, *rest = done.stderr.splitlines()
    assert summary.startswith("4 GPUs, $13.72 per hour")
    assert " ".join(rest) == (
        f"The services' shares add up to it; $1.50/h of it is what {adding}, spread in proportion."
    )
    partitions, services = done.stdout.split("\n\n")
    assert ("4g.40gb" in partitions, services.split()[0]) == (True, "service")
    as_json = price(found, REPORT, "--json", "-")
    assert json.loads(as_json.stdout)["unattributed_usd_per_hour"] == 1.5
    assert json.loads(as_json.stdout)["services_error"] is None
