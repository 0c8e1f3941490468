"""
Problems: saved as versions that never change, restored, archived.

Saving names the version that was edited. If that is no longer the latest, ConflictError tells what each side changed.
The database decides, not a look beforehand: two versions of one number are one too many (tables.py).
"""

from datetime import UTC, datetime

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError

from ...solver.model.digest import reference
from ...solver.model.problem import Problem
from .archiving import is_archived, put_away, take_back
from .conflicts import ConflictError, conflict_between
from .contents import content_of, record_of
from .errors import NameTakenError
from .records import Document, Version, VersionKey, document_of, version_of
from .rows import KIND, document_row, open_document_row, version_row, versions_statement
from .tables import DocumentRow, VersionRow
from .texts import check_texts
from .transactions import reading, writing


def save_new_problem(
    store: Engine,
    problem: Problem,
    *,
    author: str,
    note: str = "",
    name: str | None = None,
    copied: VersionKey | None = None,
) -> Version:
    """
    Saves a problem's first version.

    Parameters
    ----------
    name
        What it is saved as; None: the problem's own name.
    copied
        The version of another problem that this one was edited from; None: it begins here.

    Raises
    ------
    NameTakenError
        If a problem is saved as that already, be it archived.
    InputError
        If author, note or name cannot be kept.
    StoreError
        If `copied` does not exist, or the database refuses.
    """
    name = problem.name if name is None else name
    check_texts(author=author, note=note, name=name)
    content, sha256, now = content_of(problem), reference(problem).sha256, datetime.now(UTC)
    try:
        with writing(store) as session:
            parent = None if copied is None else version_row(session, copied)
            document = DocumentRow(kind=KIND, name=name, created_at=now)
            first = VersionRow(document=document, number=1, parent=parent, content=content, sha256=sha256)
            first.author, first.saved_at, first.note = author, now, note
            session.add(first)
            session.flush()
            return version_of(first)
    except IntegrityError as error:
        raise NameTakenError(
            f"a problem is already saved as {name!r}; choose another name, or save a version of it"
        ) from error


def save_problem(store: Engine, problem: Problem, *, parent: VersionKey, author: str, note: str = "") -> Version:
    """
    Saves the next version of a problem.

    Parameters
    ----------
    parent
        The version that was edited.

    Raises
    ------
    ConflictError
        If the parent is not the latest version: somebody saved in between. Nothing is saved.
    ArchivedError
        If the problem was archived.
    InputError
        If author or note cannot be kept.
    StoreError
        If the parent does not exist, or the database refuses.
    """
    check_texts(author=author, note=note)
    row = VersionRow(content=content_of(problem), sha256=reference(problem).sha256, author=author, note=note)
    return _append(store, row, parent, problem)


def restore_version(store: Engine, version: VersionKey, *, parent: int, author: str, note: str = "") -> Version:
    """
    Saves an old version's content, untouched, as the next version of the same problem.

    Parameters
    ----------
    parent
        Number of the version that was the latest when this was decided.

    Raises
    ------
    ConflictError, ArchivedError, InputError, StoreError
        As `save_problem` does.
    """
    check_texts(author=author, note=note)
    with reading(store) as session:
        old = version_row(session, version)
        row = VersionRow(content=old.content, sha256=old.sha256, author=author, note=note, restored_from=old.number)
    return _append(store, row, VersionKey(version.document, parent), record_of(Problem, row.content, str(version)))


def problems(store: Engine, *, archived: bool = False) -> tuple[Document, ...]:
    """Returns what is saved, the last saved first: the problems in use, or the archived ones."""
    last = select(VersionRow.document_id, func.max(VersionRow.number).label("number")).group_by(VersionRow.document_id)
    latest = last.subquery()
    statement = (
        versions_statement()
        .join(latest, (VersionRow.document_id == latest.c.document_id) & (VersionRow.number == latest.c.number))
        .where(is_archived(DocumentRow, archived))
        .order_by(VersionRow.saved_at.desc(), VersionRow.id.desc())
    )
    with reading(store) as session:
        return tuple(document_of(row.document, row) for row in session.scalars(statement))


def versions(store: Engine, name: str) -> tuple[Version, ...]:
    """Returns all versions of a problem, the latest first; raises NotFoundError."""
    statement = versions_statement().where(DocumentRow.name == name).order_by(VersionRow.number.desc())
    with reading(store) as session:
        document_row(session, name)
        return tuple(version_of(row) for row in session.scalars(statement))


def latest_version(store: Engine, name: str) -> Version:
    """Returns the latest version of a problem; raises NotFoundError."""
    statement = versions_statement().where(DocumentRow.name == name).order_by(VersionRow.number.desc()).limit(1)
    with reading(store) as session:
        document_row(session, name)
        return version_of(session.scalars(statement).one())


def load_problem(store: Engine, version: VersionKey) -> Problem:
    """
    Returns the problem as it was saved.

    Raises
    ------
    NotFoundError
        If there is no such version.
    InputError
        If it has fields that this sliceplan does not know.
    """
    with reading(store) as session:
        content = version_row(session, version).content
    return record_of(Problem, content, str(version))


def archive_problem(store: Engine, name: str, *, author: str) -> None:
    """Puts a problem out of sight, its versions and plans with it; nothing is deleted. Raises NotFoundError."""
    check_texts(author=author)
    with writing(store) as session:
        put_away(document_row(session, name), author)


def unarchive_problem(store: Engine, name: str) -> None:
    """Takes a problem out of the archive. Raises NotFoundError."""
    with writing(store) as session:
        take_back(document_row(session, name))


def _append(store: Engine, row: VersionRow, parent: VersionKey, problem: Problem) -> Version:
    try:
        with writing(store) as session:
            row.document = open_document_row(session, parent.document)
            row.parent = version_row(session, parent)
            row.number, row.saved_at = parent.number + 1, datetime.now(UTC)
            session.add(row)
            session.flush()
            return version_of(row)
    except IntegrityError as error:
        # The number is taken, so there are a base and a later version.
        base, theirs = _version(store, parent), latest_version(store, parent.document)
        base_problem, their_problem = load_problem(store, parent), load_problem(store, theirs.key)
        raise ConflictError(conflict_between(base, theirs, base_problem, their_problem, problem)) from error


def _version(store: Engine, key: VersionKey) -> Version:
    with reading(store) as session:
        return version_of(version_row(session, key))
