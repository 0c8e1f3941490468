"""Opens the store: connects, and brings the tables up to date."""

import time
from importlib.util import find_spec
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import OperationalError
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from ...solver.model.errors import MissingExtraError
from .errors import UnreachableError
from .location import database_url, default_file, shown
from .schema import bring_up_to_date
from .transactions import BEGIN
from .watched_file import watch

WAIT_S = 10.0

PAUSE_S = 0.05
"""Between two tries of what SQLite refuses without waiting."""


def open_store(url: str | None = None, *, wait_s: float = WAIT_S) -> Engine:
    """
    Returns an engine on the store's database, whose tables are made or upgraded if need be.

    It may be shared by threads, not by forked processes; `dispose()` closes its connections.

    Parameters
    ----------
    url
        `sqlite:////folder/file.sqlite3` or `postgresql://user@host/database`; None: SLICEPLAN_DATABASE, else a SQLite
        file in the user's data folder.
    wait_s
        How long to wait for a connection, and for somebody else's transaction.

    Raises
    ------
    StoreError
        If the URL is wrong, or the database cannot be opened, written or understood.
    MissingExtraError
        If the database is PostgreSQL and psycopg is not installed.
    """
    location = database_url(url)
    store = _sqlite(location, wait_s) if location.drivername == "sqlite" else _postgresql(location, wait_s)
    try:
        bring_up_to_date(store)
    except BaseException:
        store.dispose()
        raise
    if location.drivername == "sqlite" and "uri" not in location.query:
        store.dispose()  # those that are open have not noted their file
        watch(store, Path(str(location.database)).absolute())
    return store


def _sqlite(url: URL, wait_s: float) -> Engine:
    if "uri" not in url.query:
        _require_folder(url)
    store = create_engine(url, hide_parameters=True, connect_args={"timeout": wait_s})

    @event.listens_for(store, "connect")
    def _prepare(connection: SqliteConnection, _record: Any) -> None:
        connection.isolation_level = None  # the listener below begins the transactions
        connection.execute("PRAGMA foreign_keys = ON")
        _write_ahead(connection, wait_s)

    @event.listens_for(store, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get(BEGIN, "BEGIN"))

    return store


def _write_ahead(connection: SqliteConnection, wait_s: float) -> None:
    """Turns the write-ahead log on. Where two do so at once SQLite refuses one of them without waiting."""
    end = time.monotonic() + wait_s
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(PAUSE_S)


def _require_folder(url: URL) -> None:
    """Makes the folder of the default file; that of another must be there, as its path may be mistyped."""
    folder = Path(str(url.database)).absolute().parent
    try:
        if str(url.database) == str(default_file()):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not folder.is_dir():
            raise UnreachableError(f"{shown(url)} cannot be opened: there is no folder {folder}; make it first")
    except OSError as error:
        raise UnreachableError(f"{shown(url)} cannot be opened: {folder}: {error.strerror}") from error


def _postgresql(url: URL, wait_s: float) -> Engine:
    if find_spec("psycopg") is None:
        raise MissingExtraError("psycopg", "postgres")
    from .patient_postgresql import connect_arguments, connected

    # A server that was started again is found before a session begins, not within.
    store = create_engine(url, hide_parameters=True, pool_pre_ping=True, connect_args=connect_arguments(wait_s))

    @event.listens_for(store, "do_connect")
    def _connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        return connected(wait_s, *arguments, **options)

    return store
