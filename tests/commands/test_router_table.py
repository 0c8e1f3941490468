"""What `compare --routers` shows of each router, says and ends with."""

import json

import pytest
from problems.instances import ROOT
from typer.testing import CliRunner

from sliceplan.solver.api import routers
from sliceplan.solver.api.routers import RouterPlan, RouterPlans
from sliceplan.solver.cli import app
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.plan import Status

PLAN = read_plan(ROOT / "plans" / "demo.plan.json")


def plan(status=Status.OPTIMAL, **changed):
    return PLAN.model_copy(update={"status": status, **changed})


@pytest.fixture
def compared(monkeypatch):
    """Returns a function that runs the command, which finds these plans; and what it was shown."""

    def run(rows, left_out, *arguments):
        found = RouterPlans("central", tuple(RouterPlan(dispatch, one) for dispatch, one in rows), left_out)
        monkeypatch.setattr(routers, "plans_by_router", lambda *_, **__: found)
        words = ["compare", ROOT / "plans" / "demo.yaml", "--routers", *arguments]
        return CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "80"})

    return run


NONE = plan(Status.TIMEOUT, gpus=(), cost_per_hour=None, gap=None)


def test_a_router_has_cost_gpus_gap_and_status_and_whose_is_the_plans_own_is_said(compared):
    open_ended = plan(Status.FEASIBLE, cost_per_hour=1234.5, gap=0.0123)
    done = compared([("random", NONE), ("least_expected", open_ended), ("central", PLAN)], None)
    assert done.exit_code == Exit.DONE
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == [
        "router cost/h GPUs gap status",
        "random - - - timeout",
        "least_expected $1,234.50 4 1.23 % feasible",
        "central (own) $13.72 4 0.00 % optimal",
    ]
    assert done.stderr.startswith("least_expected would take $1,220.78 per hour")


def test_routers_that_were_left_out_are_said_and_json_takes_the_place_of_the_table(compared):
    done = compared([("central", NONE)], "with spares", "--json", "-")
    assert done.exit_code == Exit.NO_ANSWER
    assert json.loads(done.stdout)["routers"][0]["cost_per_hour"] is None
    assert done.stderr.splitlines() == [
        "There is no plan for central to compare with.",
        "Routers that know every partition's state are not planned with spares.",
    ]
