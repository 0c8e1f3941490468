"""The tables of a problem: edits, what they state, and the screen that shows them."""

import pandas as pd
from app_screens import screen, session_with

from sliceplan.app.session.session import tables_of
from sliceplan.app.session.stated import findings_of, same_tables, state, stated
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
