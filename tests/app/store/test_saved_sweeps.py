"""Sweeps are saved beside the version of the problem that they vary."""

import pytest
from problems.instances import ROOT

from sliceplan.app.store import sweeps as saved
from sliceplan.app.store.errors import ArchivedError, NotFoundError
from sliceplan.app.store.problems import archive_problem, save_new_problem, save_problem
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.sweep_report import SweepReport

DEMO = read_problem(ROOT / "plans" / "demo.yaml")
AXES = [{"kind": "rate", "values": [1.0, 2.5]}, {"kind": "price", "of": "A100-80GB", "values": [3.0]}]
POINT = {"index": [0, 0], "values": [1.0, 3.0], "status": "optimal", "reason": None, "stopped": None}
POINT |= {"cost_per_hour": 9.5, "bound_per_hour": 9.5, "gap": 0.0, "gpus": {"A100-80GB": 3}, "runtime_s": 0.01}
REPORT = SweepReport.model_validate(
    {
        "version": 1,
        "problem": reference(DEMO).model_dump(),
        "axes": AXES,
        "points": [POINT],
        "steps": [],
        "missing": 1,
    }
)


@pytest.fixture
def demo(store):
    return save_new_problem(store, DEMO, author="ana").key


def test_a_sweep_is_loaded_as_it_was_saved_and_listed_with_what_it_varies(store, demo):
    record = saved.save_sweep(store, REPORT, problem=demo, author="ben", note="the price of growth")
    again = saved.save_sweep(store, REPORT, problem=demo, author="cleo")
    assert saved.load_sweep(store, record.id) == REPORT
    assert saved.sweeps(store, "demo") == (again, record)
    assert (record.axes, record.points, record.missing) == ((("rate", None), ("price", "A100-80GB")), 1, 1)
    assert (record.problem, record.author, record.note) == (demo, "ben", "the price of growth")


def test_a_sweep_of_one_service_is_listed_by_its_label(store, demo):
    first = DEMO.workloads[0].name
    axes = [{"kind": "slo", "of": first, "values": [100.0]}]
    point = POINT | {"index": [0], "values": [100.0]}
    report = SweepReport.model_validate({**REPORT.model_dump(), "axes": axes, "points": [point]})
    record = saved.save_sweep(store, report.model_copy(update={"labels": {first: "写真"}}), problem=demo, author="ben")
    assert record.axes == (("slo", "写真"),)
    assert saved.load_sweep(store, record.id).axes[0].of == first
    unlabelled = saved.save_sweep(store, report, problem=demo, author="ben")
    assert unlabelled.axes == (("slo", first),)


def test_the_sweep_of_another_problem_is_refused(store, demo):
    other = Problem.model_validate({**DEMO.model_dump(), "settings": {"headroom": 0.5}})
    second = save_problem(store, other, parent=demo, author="ana").key
    with pytest.raises(InputError, match=r"varies another problem \(demo\) than demo, version 2"):
        saved.save_sweep(store, REPORT, problem=second, author="ben")
    assert saved.sweeps(store, "demo") == ()


def test_an_archived_sweep_is_out_of_sight_and_can_be_taken_back(store, demo):
    record = saved.save_sweep(store, REPORT, problem=demo, author="ben")
    saved.archive_sweep(store, record.id, author="cleo")
    assert saved.sweeps(store, "demo") == ()
    [archived] = saved.sweeps(store, "demo", archived=True)
    assert archived.archived.by == "cleo"
    saved.unarchive_sweep(store, record.id)
    assert saved.sweeps(store, "demo") == (record,)
    with pytest.raises(NotFoundError, match="there is no saved sweep 99"):
        saved.load_sweep(store, 99)


def test_an_archived_problem_takes_no_sweeps(store, demo):
    archive_problem(store, "demo", author="ben")
    with pytest.raises(ArchivedError, match="demo was archived by ben"):
        saved.save_sweep(store, REPORT, problem=demo, author="ben")
