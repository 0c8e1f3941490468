"""
One transaction a call: a session that is committed as a whole or not at all.

PostgreSQL runs at its default, read committed: no function decides on what it read before, but on a unique constraint
or a locked row. SQLite would give up at once (SQLITE_BUSY) where two readers turn into writers, so that writers begin
as such (BEGIN IMMEDIATE) and wait for one another.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from .driver_errors import store_error

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
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise store_error(error, store) from error
