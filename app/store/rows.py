"""Finds rows by what people call them, and says what there is where there is none."""

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, joinedload

from ...solver.model.parsing import closest
from .errors import ArchivedError, NotFoundError
from .records import VersionKey
from .tables import DocumentRow, PlanRow, SweepRow, VersionRow

KIND = "problem"
"""The kind of every document so far."""


def document_row(session: Session, name: str) -> DocumentRow:
    """Returns a problem's row; raises NotFoundError with the nearest name."""
    found = session.scalars(_documents().where(DocumentRow.name == name)).one_or_none()
    return found or _no_document(session, name)


def open_document_row(session: Session, name: str) -> DocumentRow:
    """Returns the row of a problem that is to be added to, and keeps it from being archived meanwhile."""
    found = session.scalars(_documents().where(DocumentRow.name == name).with_for_update(read=True)).one_or_none()
    found = found or _no_document(session, name)
    if found.archived_at is not None:
        raise ArchivedError(
            f"{name} was archived by {found.archived_by} at {found.archived_at:%Y-%m-%d %H:%M} UTC; take it out of the "
            "archive, or save under another name"
        )
    return found


def version_row(session: Session, key: VersionKey) -> VersionRow:
    """Returns a version's row; raises NotFoundError with the numbers that there are."""
    statement = versions_statement().where(DocumentRow.name == key.document, VersionRow.number == key.number)
    found = session.scalars(statement).one_or_none()
    if found is None:
        document = document_row(session, key.document)
        last = session.scalars(select(func.max(VersionRow.number)).where(VersionRow.document_id == document.id)).one()
        raise NotFoundError(f"{key.document} has no version {key.number}; it has 1 to {last}")
    return found


def plan_row(session: Session, number: int) -> PlanRow:
    """Returns a plan's row; raises NotFoundError."""
    found = session.scalars(plans_statement().where(PlanRow.id == number)).one_or_none()
    if found is None:
        raise NotFoundError(f"there is no saved plan {number}")
    return found


def sweep_row(session: Session, number: int) -> SweepRow:
    """Returns a sweep's row; raises NotFoundError."""
    found = session.scalars(sweeps_statement().where(SweepRow.id == number)).one_or_none()
    if found is None:
        raise NotFoundError(f"there is no saved sweep {number}")
    return found


def versions_statement() -> Select[VersionRow]:
    """Returns the statement that reads versions of problems, with what their records need."""
    return (
        select(VersionRow)
        .join(VersionRow.document)
        .where(DocumentRow.kind == KIND)
        .options(joinedload(VersionRow.document), joinedload(VersionRow.parent).joinedload(VersionRow.document))
    )


def plans_statement() -> Select[PlanRow]:
    """Returns the statement that reads plans, with what their records need."""
    return (
        select(PlanRow)
        .join(PlanRow.version)
        .join(VersionRow.document)
        .where(DocumentRow.kind == KIND)
        .options(joinedload(PlanRow.version).joinedload(VersionRow.document))
    )


def sweeps_statement() -> Select[SweepRow]:
    """Returns the statement that reads sweeps, with what their records need."""
    return (
        select(SweepRow)
        .join(SweepRow.version)
        .join(VersionRow.document)
        .where(DocumentRow.kind == KIND)
        .options(joinedload(SweepRow.version).joinedload(VersionRow.document))
    )


def _documents() -> Select[DocumentRow]:
    return select(DocumentRow).where(DocumentRow.kind == KIND)


def _no_document(session: Session, name: str) -> DocumentRow:
    names = session.scalars(select(DocumentRow.name).where(DocumentRow.kind == KIND).order_by(DocumentRow.name)).all()
    raise NotFoundError(f"no problem is saved as {name!r}. {closest(name, names)}")
