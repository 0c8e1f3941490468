"""Where the store is, and what is said when it cannot be opened."""

import os
import signal
import sqlite3
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import pytest
from problems.instances import ROOT, problem_of
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from stand_ins import postgresql_server

from sliceplan.app.store import opening
from sliceplan.app.store.errors import GoneError, LockedError, RightsError, StoreUrlError, UnreachableError
from sliceplan.app.store.location import database_url, shown
from sliceplan.app.store.opening import open_store
from sliceplan.app.store.problems import problems, save_new_problem
from sliceplan.solver.model.errors import MissingExtraError

PROBLEM = problem_of([{"model": "bert", "rate_rps": 100, "slo_ms": 300}])


def test_by_default_it_is_a_file_in_the_users_data_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("SLICEPLAN_DATABASE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    store = open_store()
    save_new_problem(store, PROBLEM, author="ana")
    store.dispose()
    file = tmp_path / "data" / "sliceplan" / "store.sqlite3"
    assert file.is_file()
    assert file.parent.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.setenv("HOME", "/home/ana")
    assert database_url().database == "/home/ana/.local/share/sliceplan/store.sqlite3"


def test_the_environment_names_another(tmp_path, monkeypatch):
    monkeypatch.setenv("SLICEPLAN_DATABASE", f"sqlite:///{tmp_path}/other.sqlite3")
    open_store().dispose()
    assert (tmp_path / "other.sqlite3").is_file()


def test_sqlite_writes_ahead_checks_references_and_waits(sqlite_url):
    store = open_store(sqlite_url, wait_s=3)
    with store.connect() as connection:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("journal_mode", "foreign_keys")]
        assert found == ["wal", 1]
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 3000
    store.dispose()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "nonsense",
            "is not a database URL; expected sqlite:////folder/file.sqlite3 or postgresql://user@host/database",
        ),
        ("mysql://ana@host/plans", "begins with 'mysql'; known are postgres, postgresql, sqlite"),
        ("sqlite://", "names no file, so that nothing would be kept"),
        ("sqlite:///:memory:", "names no file"),
        ("postgresql://ana:hush@hush@host/plans", "has an @ too many; write it as %40 within a password"),
        ("postgresql://ana:hush@host:hush/plans", "is not a database URL"),
    ],
)
def test_a_wrong_url_is_refused_and_not_repeated(url, message, monkeypatch):
    monkeypatch.setenv("SLICEPLAN_DATABASE", url)
    with pytest.raises(StoreUrlError) as caught:
        open_store()
    assert message in str(caught.value)
    assert str(caught.value).startswith("SLICEPLAN_DATABASE ")
    assert "hush" not in "".join(traceback.format_exception(caught.value))


def test_a_url_is_shown_without_its_password():
    url = database_url("postgres://ana:hush@db.example:5433/plans?password=hush&sslmode=require")
    assert url.drivername == "postgresql+psycopg"
    assert shown(url) == "postgresql://ana:***@db.example:5433/plans"


def test_a_server_that_is_not_there_is_named_without_the_password(tmp_path):
    with pytest.raises(UnreachableError, match=r"^postgresql://ana:\*\*\*@/plans cannot be opened: ") as caught:
        open_store(f"postgresql://ana:hush@/plans?host={tmp_path}")
    assert "SLICEPLAN_DATABASE says which database is used" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_database_or_user_that_the_server_does_not_know_is_named(postgresql):
    with pytest.raises(UnreachableError, match='database "nowhere" does not exist'):
        open_store(f"postgresql://{postgresql_server.USER}@/nowhere?host={postgresql}")
    with pytest.raises(UnreachableError, match='role "nobody_here" does not exist'):
        open_store(f"postgresql://nobody_here@/postgres?host={postgresql}")


def test_a_folder_that_is_not_there_and_a_file_that_is_no_database_are_named(tmp_path):
    with pytest.raises(UnreachableError, match=f"there is no folder {tmp_path}/typo; make it first"):
        open_store(f"sqlite:///{tmp_path}/typo/store.sqlite3")
    (tmp_path / "letter.txt").write_text("Dear Ana, this is no database. " * 50)
    with pytest.raises(UnreachableError, match=r"letter.txt cannot be opened: file is not a database"):
        open_store(f"sqlite:///{tmp_path}/letter.txt")
    with pytest.raises(UnreachableError, match="cannot be opened: unable to open database file"):
        open_store(f"sqlite:///{tmp_path}")


def test_a_locked_sqlite_file_is_said_to_be_locked_and_keeps_what_it_has(sqlite_url, tmp_path):
    store = open_store(sqlite_url, wait_s=0.1)
    other = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LockedError, match=r"is locked by another transaction .*nothing was changed, try again"):
        save_new_problem(store, PROBLEM, author="ana")
    assert problems(store) == ()
    other.execute("ROLLBACK")
    other.close()
    save_new_problem(store, PROBLEM, author="ana")
    store.dispose()


def test_a_locked_postgresql_table_is_said_to_be_locked(postgresql, postgresql_url):
    store = open_store(postgresql_url, wait_s=0.1)
    with postgresql_server.connection(postgresql, store.url.database) as other, other.transaction():
        other.execute("LOCK TABLE documents")
        with pytest.raises(LockedError, match=r"is locked by another transaction .*lock timeout"):
            save_new_problem(store, PROBLEM, author="ana")
    save_new_problem(store, PROBLEM, author="ana")
    store.dispose()


def test_missing_rights_are_said_to_be_missing(sqlite_url, tmp_path, postgresql, postgresql_url):
    open_store(sqlite_url).dispose()
    store = open_store(f"sqlite:///file:{tmp_path}/store.sqlite3?mode=ro&uri=true")
    with pytest.raises(RightsError, match="readonly database; the user needs the right to read and write it"):
        save_new_problem(store, PROBLEM, author="ana")
    store.dispose()
    with postgresql_server.connection(postgresql) as admin:
        admin.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(RightsError, match=r"permission denied for schema public; .* to create its tables"):
        open_store(postgresql_url.replace(f"{postgresql_server.USER}@", "guest@"))
    open_store(postgresql_url).dispose()
    with pytest.raises(RightsError, match="permission denied for table sliceplan_schema"):
        open_store(postgresql_url.replace(f"{postgresql_server.USER}@", "guest@"))


def test_a_server_that_went_away_and_came_back_is_found_again(postgresql, postgresql_url):
    store = open_store(postgresql_url)
    with postgresql_server.connection(postgresql) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [store.url.database])
    assert problems(store) == ()
    store.dispose()


def test_without_psycopg_its_extra_is_named(monkeypatch):
    monkeypatch.setattr(opening, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sliceplan\[postgres\]'"):
        open_store("postgresql://ana@host/plans")


def test_the_store_needs_neither_streamlit_nor_a_solver():
    code = (
        "import sys, sliceplan.app.store.opening, sliceplan.app.store.problems, sliceplan.app.store.plans;"
        "print([name for name in ('streamlit', 'ortools', 'numpy', 'psycopg') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_a_file_that_is_deleted_under_a_running_page_is_said_to_be_gone_and_no_new_one_is_made(sqlite_url, tmp_path):
    store, path = open_store(sqlite_url), tmp_path / "store.sqlite3"
    save_new_problem(store, PROBLEM, author="ana")
    for name in ("store.sqlite3", "store.sqlite3-wal", "store.sqlite3-shm"):
        (tmp_path / name).rename(tmp_path / f"away-{name}") if (tmp_path / name).exists() else None
    for _ in range(2):
        with pytest.raises(GoneError, match=r"is gone .*no empty one is made in its place"):
            save_new_problem(store, PROBLEM, author="ana", name="other")
        with pytest.raises(GoneError, match="is gone"):
            problems(store)
    assert not path.exists()
    for aside in tmp_path.glob("away-*"):
        aside.rename(tmp_path / aside.name.removeprefix("away-"))
    assert [found.name for found in problems(store)] == [PROBLEM.name]
    store.dispose()


def test_a_file_that_is_emptied_is_said_to_be_and_one_put_in_its_place_is_opened(sqlite_url, tmp_path):
    store, path = open_store(sqlite_url), tmp_path / "store.sqlite3"
    other = open_store(f"sqlite:///{tmp_path}/backup.sqlite3")
    save_new_problem(other, PROBLEM, author="ana", name="from-the-backup")
    other.dispose()
    assert problems(store) == ()
    os.truncate(path, 0)
    with pytest.raises(GoneError, match="was emptied"):
        problems(store)
    assert path.stat().st_size == 0
    for end in ("-wal", "-shm"):
        (tmp_path / f"store.sqlite3{end}").unlink(missing_ok=True)
    (tmp_path / "backup.sqlite3").replace(path)
    assert [found.name for found in problems(store)] == ["from-the-backup"]
    store.dispose()


@pytest.fixture
def stopped(postgresql):
    """Returns a function that stops a server as a whole, as a machine that hangs does; it goes on after the test."""
    pids = []

    def stop():
        main = int((postgresql / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        pids.extend([main, *map(int, children)])
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

    yield stop
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_a_server_that_stops_answering_holds_nobody_up(postgresql_url, stopped):
    store = open_store(postgresql_url, wait_s=0.2)
    assert problems(store) == ()
    stopped()
    with pytest.raises(UnreachableError, match="cannot be opened"):
        problems(store)
    tried = []
    event.listen(store, "do_connect", lambda *_: tried.append("again"))
    for _ in range(3):
        with pytest.raises(UnreachableError, match="cannot be opened"):
            problems(store)
    assert not tried  # all others are told at once
    store.dispose()


def test_an_answer_that_does_not_come_ends_the_connection(postgresql_url):
    store = open_store(postgresql_url, wait_s=0.2)
    with store.connect() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(OperationalError, match="the server does not answer"):
                connection.exec_driver_sql("SELECT 1")
            assert connection.invalidated
        finally:
            os.kill(pid, signal.SIGCONT)
    assert problems(store) == ()
    store.dispose()


def test_a_statement_that_takes_too_long_is_ended_by_the_server(postgresql_url):
    store = open_store(postgresql_url, wait_s=0.2)
    with store.connect() as connection, pytest.raises(OperationalError, match="statement timeout"):
        connection.exec_driver_sql("SELECT pg_sleep(60)")
    store.dispose()
