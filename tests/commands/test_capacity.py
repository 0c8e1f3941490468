"""What the commands for fleets of fixed size say of answers that prove little."""

import pytest
from problems.instances import ROOT
from typer.testing import CliRunner

from sliceplan.solver import api
from sliceplan.solver.api import capacity
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
    monkeypatch.setattr(capacity, "headroom", lambda *_, **__: api.Headroom(report, None, None))
    done = CliRunner().invoke(app, ["headroom", str(ROOT / "plans" / "demo.yaml")])
    assert done.exit_code == code
    assert done.stdout == f"{message}\n"
