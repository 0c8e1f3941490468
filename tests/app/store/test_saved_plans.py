"""Plans are saved beside the version of the problem that they answer."""

import pytest
from problems.instances import ROOT
from sqlalchemy import select

from sliceplan.app.store import plans as saved
from sliceplan.app.store.errors import ArchivedError, NotFoundError
from sliceplan.app.store.problems import archive_problem, save_new_problem, save_problem
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.tables import VersionRow
from sliceplan.app.store.transactions import writing
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import Problem

DEMO = read_problem(ROOT / "plans" / "demo.yaml")
PLAN = read_plan(ROOT / "plans" / "demo.plan.json")


@pytest.fixture
def demo(store):
    return save_new_problem(store, DEMO, author="ana").key


def test_a_plan_is_loaded_as_it_was_saved_and_listed_with_its_figures(store, demo):
    record = saved.save_plan(store, PLAN, problem=demo, author="ben", note="proven")
    again = saved.save_plan(store, PLAN, problem=demo, author="cleo")
    assert saved.load_plan(store, record.id) == PLAN
    assert saved.plans(store, "demo") == (again, record)
    figures = (record.planner, record.status, record.cost_per_hour, record.gpus_used, record.gap, record.runtime_s)
    assert figures == ("exact", "optimal", PLAN.cost_per_hour, 4, 0.0, PLAN.runtime_s)
    assert (record.bound_cost_per_hour, record.problem) == (PLAN.bound.cost_per_hour, demo)
    assert (record.author, record.note, record.archived) == ("ben", "proven", None)


def test_plans_without_cost_and_bound_are_kept_as_such(store, demo):
    none = PLAN.model_copy(
        update={"cost_per_hour": None, "gap": None, "bound": PLAN.bound.model_copy(update={"cost_per_hour": None})}
    )
    record = saved.save_plan(store, none, problem=demo, author="ben")
    assert (record.cost_per_hour, record.gap, record.bound_cost_per_hour) == (None, None, None)
    assert saved.load_plan(store, record.id) == none


def test_the_plan_of_another_problem_is_refused(store, demo):
    other = Problem.model_validate({**DEMO.model_dump(), "settings": {"headroom": 0.5}})
    second = save_problem(store, other, parent=demo, author="ana").key
    with pytest.raises(
        InputError, match=r"answers another problem \(demo\) than demo, version 2; save that problem first"
    ):
        saved.save_plan(store, PLAN, problem=second, author="ben")
    with pytest.raises(NotFoundError, match="demo has no version 3"):
        saved.save_plan(store, PLAN, problem=VersionKey("demo", 3), author="ben")
    assert saved.plans(store, "demo") == ()


def test_a_plan_fits_a_version_whose_digest_an_earlier_sliceplan_computed(store, demo):
    with writing(store) as session:
        session.scalars(select(VersionRow)).one().sha256 = "0" * 64
    assert saved.save_plan(store, PLAN, problem=demo, author="ben").problem == demo


def test_an_archived_plan_is_out_of_sight_and_can_be_taken_back(store, demo):
    record = saved.save_plan(store, PLAN, problem=demo, author="ben")
    saved.archive_plan(store, record.id, author="cleo")
    assert saved.plans(store, "demo") == ()
    [archived] = saved.plans(store, "demo", archived=True)
    assert archived.archived.by == "cleo"
    saved.unarchive_plan(store, record.id)
    assert saved.plans(store, "demo") == (record,)
    with pytest.raises(NotFoundError, match="there is no saved plan 99"):
        saved.archive_plan(store, 99, author="cleo")
    with pytest.raises(NotFoundError, match="no problem is saved as 'dmo'"):
        saved.plans(store, "dmo")


def test_an_archived_problem_takes_no_plans(store, demo):
    archive_problem(store, "demo", author="ben")
    with pytest.raises(ArchivedError, match="demo was archived by ben"):
        saved.save_plan(store, PLAN, problem=demo, author="ben")
