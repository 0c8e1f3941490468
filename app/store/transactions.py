"""
One transaction a call: a session that is committed as a whole or not at all.

PostgreSQL runs at its default, read committed: no function decides on what it read before, but on a unique constraint
or a locked row. SQLite would give up at once (SQLITE_BUSY) where two readers turn into writers, so that writers begin
as such (BEGIN IMMEDIATE) and wait for one another.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, Pool
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from .driver_errors import store_error
from .errors import UnreachableError

BEGIN = "sqlite_begin"
"""Execution option: the statement that begins a transaction on SQLite."""


@contextmanager
def reading(store: Engine) -> Iterator[Session]:
    """Gives a session that nothing is written in; raises StoreError for what the database refuses."""
    with _translated(store), Session(store) as session:
        yield session


@contextmanager
def writing(store: Engine) -> Iterator[Session]:
    """
    Gives a session that is committed at the end, and rolled back if anything is raised.

    Raises
    ------
    IntegrityError
        SQLAlchemy's, if a constraint does not hold: the caller knows what that means.
    StoreError
        For everything else that the database refuses.
    """
    engine = store.execution_options(**{BEGIN: "BEGIN IMMEDIATE"})
    with _translated(store), Session(engine, expire_on_commit=False) as session, session.begin():
        yield session


@contextmanager
def _translated(store: Engine) -> Iterator[None]:
    """Turns a driver's errors into the store's; a server that does not answer is left alone for REST_S."""
    rest = _resting.get(store.pool)
    if rest is not None and time.monotonic() < rest[0]:
        raise rest[1]
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        found = store_error(error, store)
        if isinstance(found, UnreachableError) and store.dialect.name != "sqlite":
            _resting[store.pool] = (time.monotonic() + REST_S, UnreachableError(str(found)))
        raise found from error
    _resting.pop(store.pool, None)


REST_S = 10.0
"""After a server did not answer, everybody is told so at once for so long, and nobody waits for it."""

_resting: WeakKeyDictionary[Pool, tuple[float, UnreachableError]] = WeakKeyDictionary()
