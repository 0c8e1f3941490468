"""The tables of a problem: edits, what they state, and the screen that shows them."""

from dataclasses import replace

import pandas as pd
from app_screens import screen, session_with

from sliceplan.app.session.session import open_problem, tables_of
from sliceplan.app.session.stated import findings_of, redo, same_tables, state, stated, undo
from sliceplan.app.store.records import VersionKey
from sliceplan.app.tables.edits import with_edits
from sliceplan.solver.formats.problem_files import example_problems

DEMO = tables_of(example_problems()["demo"])


def edits(**changes):
    return {"edited_rows": {}, "added_rows": [], "deleted_rows": [], **changes}


def test_no_edits_leave_a_table_as_it_is():
    for frame in (DEMO.fleet, DEMO.workloads):
        assert with_edits(frame, edits()).equals(frame)


def test_edited_added_and_deleted_rows_keep_the_types_of_the_columns():
    added = [{"name": "new", "model": "vgg16", "rate_rps": 5, "min_replicas": 2}]
    changes = edits(edited_rows={"1": {"rate_rps": 7}, "2": {"name": None}}, added_rows=added, deleted_rows=[0, 2])
    frame = with_edits(DEMO.workloads, changes)
    assert frame.dtypes.equals(DEMO.workloads.dtypes)
    assert list(frame.index) == list(range(7))
    assert frame.loc[0, "rate_rps"] == 7
    assert frame.loc[0, "name"] == DEMO.workloads.loc[1, "name"]
    assert (frame.loc[6, "name"], frame.loc[6, "rate_rps"], frame.loc[6, "min_replicas"]) == ("new", 5.0, 2)
    assert pd.isna(frame.loc[6, "slo_ms"])


def test_a_fraction_in_a_column_of_integers_is_kept_and_found():
    session = session_with("demo")
    frame = with_edits(session.tables.workloads, edits(edited_rows={0: {"max_replicas": 1.5}}))
    problem, findings = stated(type(DEMO)("x", session.tables.fleet, frame, session.tables.settings))
    assert problem is None
    assert [finding.path for finding in findings] == ["workloads[0].max_replicas"]


def test_opening_the_screen_changes_nothing_and_asks_for_no_second_run():
    session = session_with("mixed")
    before = (session.tables, session.past)
    page = screen("workloads", session)
    assert not page.exception
    assert (session.tables, session.past) == before


def test_the_same_tables_are_no_change():
    session = session_with("demo")
    past = session.past
    state(session, tables_of(example_problems()["demo"]))
    assert session.past is past
    assert same_tables(session.tables, DEMO)
    assert findings_of(session) == ()


def renamed(session, name):
    state(session, replace(session.tables, name=name))


def test_undo_and_redo_go_through_what_was_changed():
    session = session_with("demo")
    for name in ("one", "two"):
        renamed(session, name)
    undo(session)
    assert (session.tables.name, session.problem.name) == ("one", "one")
    undo(session)
    assert session.tables.name == "demo"
    redo(session)
    redo(session)
    assert session.tables.name == session.problem.name == "two"
    redo(session)
    assert session.tables.name == "two"


def test_a_change_after_undo_takes_the_place_of_what_was_undone():
    session = session_with("demo")
    renamed(session, "one")
    undo(session)
    renamed(session, "other")
    redo(session)
    assert session.tables.name == "other"
    undo(session)
    assert session.tables.name == "demo"


def test_undo_brings_back_wrong_tables_as_wrong_ones():
    session = session_with("demo")
    state(session, replace(session.tables, name="-wrong-"))
    renamed(session, "right")
    assert session.problem is not None
    undo(session)
    assert session.problem is None
    assert [finding.path for finding in findings_of(session)] == ["name"]


def test_undo_knows_which_saved_version_the_tables_began_as():
    session = session_with("demo")
    session.saved_as = VersionKey("demo", 1)
    open_problem(session, example_problems()["mixed"], VersionKey("mixed", 7))
    renamed(session, "mine")
    session.saved_as = VersionKey("mine", 8)
    undo(session)
    assert session.saved_as == VersionKey("mine", 8)
    undo(session)
    assert (session.tables.name, session.saved_as) == ("demo", VersionKey("demo", 1))
    redo(session)
    assert (session.tables.name, session.saved_as) == ("mixed", VersionKey("mine", 8))


def test_undo_without_a_change_does_nothing():
    session = session_with("demo")
    session.past = ()
    undo(session)
    assert session.tables.name == "demo"
