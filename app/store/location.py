"""Which database: SLICEPLAN_DATABASE, or a SQLite file in the user's data folder; and its URL without secrets."""

import os
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from .errors import StoreUrlError

VARIABLE = "SLICEPLAN_DATABASE"

DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}

EXPECTED = "expected sqlite:////folder/file.sqlite3 or postgresql://user@host/database"


def database_url(given: str | None = None) -> URL:
    """
    Returns the URL that was given, else the environment's, else that of the SQLite file in the user's data folder.

    Raises
    ------
    StoreUrlError
        If it is no URL, or of no database that the store knows, or of one that keeps nothing.
    """
    if given is not None:
        return _parsed(given, "the database URL")
    if stated := os.environ.get(VARIABLE):
        return _parsed(stated, VARIABLE)
    return URL.create("sqlite", database=str(default_file()))


def default_file() -> Path:
    """Returns the SQLite file that is used where nothing else is stated, by the XDG base directory specification."""
    stated = os.environ.get("XDG_DATA_HOME", "")
    # The specification: a path that is not absolute is to be ignored.
    base = Path(stated) if Path(stated).is_absolute() else Path("~/.local/share").expanduser()
    return base / "sliceplan" / "store.sqlite3"


def shown(url: URL) -> str:
    """Returns a URL to show: without its password, and without its query, which may hold one too."""
    return url.set(drivername=url.get_backend_name(), query={}).render_as_string(hide_password=True)


def _parsed(text: str, source: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The cause is left out: it may quote the URL, password and all.
        raise StoreUrlError(f"{source} is not a database URL; {EXPECTED}") from None
    if url.drivername not in DRIVERS:
        known = ", ".join(sorted({name.split("+")[0] for name in DRIVERS}))
        raise StoreUrlError(f"{source} begins with {url.drivername!r}; known are {known}; {EXPECTED}")
    url = url.set(drivername=DRIVERS[url.drivername])
    if url.drivername == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreUrlError(f"{source} names no file, so that nothing would be kept; {EXPECTED}")
    if "@" in (url.host or ""):
        # The end of a password that has an @ in it, which would be shown.
        raise StoreUrlError(f"{source} has an @ too many; write it as %40 within a password")
    return url
