"""Out of sight and back, alike for problems, plans and sweeps; nothing is ever deleted."""

from datetime import UTC, datetime

from sqlalchemy import ColumnElement

from .tables import DocumentRow, PlanRow, SweepRow

ArchivableRow = DocumentRow | PlanRow | SweepRow


def put_away(row: ArchivableRow, author: str) -> None:
    """Puts a row out of sight; who did so first, and when, stays."""
    if row.archived_at is None:
        row.archived_at, row.archived_by = datetime.now(UTC), author


def take_back(row: ArchivableRow) -> None:
    """Takes a row out of the archive."""
    row.archived_at = row.archived_by = None


def is_archived(kind: type[ArchivableRow], archived: bool) -> ColumnElement[bool]:
    """Returns the condition on rows to be in the archive, or in use."""
    return kind.archived_at.is_not(None) if archived else kind.archived_at.is_(None)
