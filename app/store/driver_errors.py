"""What a database's driver says, as an error that says what would be right."""

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from .errors import LockedError, RightsError, StoreError, UnreachableError
from .location import VARIABLE, shown


def store_error(error: DBAPIError, store: Engine) -> StoreError:
    """Returns the store's error for a driver's; its text names the database without a password."""
    where, said = shown(store.url), _first_line(error)
    kind = _sqlite_kind(error) if store.dialect.name == "sqlite" else _postgresql_kind(error)
    if kind is LockedError:
        return LockedError(f"{where} is locked by another transaction ({said}); nothing was changed, try again")
    if kind is RightsError:
        return RightsError(f"{where}: {said}; the user needs the right to read and write it, and to create its tables")
    if kind is UnreachableError:
        return UnreachableError(f"{where} cannot be opened: {said}; {VARIABLE} says which database is used")
    return StoreError(f"{where} refused: {said}")


def _sqlite_kind(error: DBAPIError) -> type[StoreError]:
    """Maps SQLite's result codes (sqlite.org/rescode.html)."""
    code = getattr(error.orig, "sqlite_errorname", "")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LockedError
    if code.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return RightsError
    if code.startswith(("SQLITE_CANTOPEN", "SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_IOERR")):
        return UnreachableError
    return StoreError


def _postgresql_kind(error: DBAPIError) -> type[StoreError]:
    """Maps SQLSTATE (PostgreSQL's manual, appendix A); psycopg has none where no connection came about."""
    state = getattr(error.orig, "sqlstate", None)
    if state is None or error.connection_invalidated:
        return UnreachableError if error.connection_invalidated or _is_operational(error) else StoreError
    if state in ("55P03", "40P01", "40001", "57014"):
        return LockedError
    if state in ("42501", "25006"):
        return RightsError
    return UnreachableError if state.startswith(("08", "28", "3D", "53", "57P")) else StoreError


def _is_operational(error: DBAPIError) -> bool:
    return type(error.orig).__name__ in ("OperationalError", "ConnectionTimeout")


def _first_line(error: DBAPIError) -> str:
    return next((line for line in str(error.orig).splitlines() if line.strip()), type(error.orig).__name__)
