"""Migrations make the tables that the store maps, from nothing and from the first version with its data."""

from datetime import UTC, datetime

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from problems.instances import problem_of
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from sliceplan.app.store import opening, problems
from sliceplan.app.store.errors import NewerSchemaError, StoreError
from sliceplan.app.store.opening import open_store
from sliceplan.app.store.schema import VERSION_TABLE, bring_up_to_date
from sliceplan.app.store.tables import Base, DocumentRow, PlanRow, VersionRow
from sliceplan.app.store.transactions import reading, writing

PROBLEM = problem_of([{"model": "bert", "rate_rps": 100, "slo_ms": 300}], name="old")
NOW = datetime(2026, 11, 21, 14, 3, 5, 123456, tzinfo=UTC)


def revision(store):
    with reading(store) as session:
        return MigrationContext.configure(
            session.connection(), opts={"version_table": VERSION_TABLE}
        ).get_current_revision()


def test_the_migrations_make_the_tables_that_the_store_maps(store):
    with reading(store) as session:
        context = MigrationContext.configure(
            session.connection(), opts={"version_table": VERSION_TABLE, "compare_server_default": True}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_a_database_of_the_first_version_is_upgraded_with_its_data(url, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(opening, "bring_up_to_date", lambda store: bring_up_to_date(store, "0001"))
        old = open_store(url)
    assert revision(old) == "0001"
    with writing(old) as session:
        row = {"kind": "problem", "name": "old", "created_at": NOW}
        number = session.execute(insert(DocumentRow).values(**row)).inserted_primary_key[0]
        content = PROBLEM.model_dump_json().encode()
        row = {"document_id": number, "number": 1, "content": content, "sha256": "0" * 64}
        session.execute(insert(VersionRow).values(**row, author="ana", saved_at=NOW, note="kept"))
    old.dispose()
    store = open_store(url)
    assert revision(store) == "0003"
    [version] = problems.versions(store, "old")
    assert (version.author, version.saved_at, version.note) == ("ana", NOW, "kept")
    assert problems.load_problem(store, version.key) == PROBLEM
    assert problems.save_problem(store, PROBLEM, parent=version.key, author="ben").key.number == 2
    store.dispose()


def test_opening_again_changes_nothing(store, url):
    version = problems.save_new_problem(store, PROBLEM, author="ana")
    again = open_store(url)
    assert problems.versions(again, "old") == (version,)
    again.dispose()


def test_a_database_of_a_later_sliceplan_is_refused_and_left_alone(store, url):
    with writing(store) as session:
        session.connection().exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    expected = "was upgraded by a later sliceplan: its tables are at 9999, this one knows them up to 0003; upgrade"
    with pytest.raises(NewerSchemaError, match=expected):
        open_store(url)
    assert revision(store) == "9999"


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(url, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(opening, "bring_up_to_date", lambda store: bring_up_to_date(store, "0001"))
        old = open_store(url)
    with writing(old) as session:  # in the way of the third migration
        session.connection().exec_driver_sql("CREATE TABLE sweeps (id INTEGER)")
    with pytest.raises(StoreError, match=r"sweeps.*already exists"):
        open_store(url)
    assert revision(old) == "0001"
    with reading(old) as session:
        assert not session.connection().dialect.has_table(session.connection(), "plans")
    old.dispose()


def test_references_between_tables_are_enforced(store):
    row = {"version_id": 1, "planner": "exact", "status": "optimal", "gpus_used": 0, "runtime_s": 0.0, "content": b"{}"}
    with pytest.raises(IntegrityError, match=r"(?i)foreign key"), writing(store) as session:
        session.execute(insert(PlanRow).values(**row, author="ana", saved_at=NOW, note=""))
