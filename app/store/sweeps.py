"""Sweeps: saved beside the version of the problem that they vary, archived."""

from datetime import UTC, datetime

from sqlalchemy import Engine

from ...solver.model.digest import reference
from ...solver.model.errors import Finding, InputError
from ...solver.model.parsing import parse_record
from ...solver.model.sweep_report import SweepReport
from .archiving import is_archived, put_away, take_back
from .problems import load_problem
from .records import SavedSweep, VersionKey, sweep_of
from .rows import document_row, open_document_row, sweep_row, sweeps_statement, version_row
from .tables import DocumentRow, SweepRow
from .texts import check_texts
from .transactions import reading, writing


def save_sweep(store: Engine, report: SweepReport, *, problem: VersionKey, author: str, note: str = "") -> SavedSweep:
    """
    Saves a sweep of a version of a problem; any number of them may be saved for one.

    Raises
    ------
    InputError
        If the sweep varies another problem, or author or note cannot be kept.
    ArchivedError
        If the problem was archived.
    StoreError
        If there is no such version, or the database refuses.
    """
    check_texts(author=author, note=note)
    if report.problem.sha256 != reference(load_problem(store, problem)).sha256:
        message = f"varies another problem ({report.problem.name}) than {problem}; save that problem first"
        raise InputError([Finding("<sweep>", "problem.sha256", message)])
    content = report.model_dump(mode="json")
    parameters = {"axes": content["axes"], "points": len(report.points), "missing": report.missing}
    if report.labels:
        parameters["labels"] = content["labels"]
    row = SweepRow(parameters=parameters, results=content, author=author, note=note)
    with writing(store) as session:
        open_document_row(session, problem.document)
        row.version, row.saved_at = version_row(session, problem), datetime.now(UTC)
        session.add(row)
        session.flush()
        return sweep_of(row)


def sweeps(store: Engine, name: str, *, archived: bool = False) -> tuple[SavedSweep, ...]:
    """
    Returns the sweeps of all versions of a problem, the last saved first: those in use, or the archived ones.

    Raises NotFoundError.
    """
    statement = (
        sweeps_statement()
        .where(DocumentRow.name == name)
        .where(is_archived(SweepRow, archived))
        .order_by(SweepRow.saved_at.desc(), SweepRow.id.desc())
    )
    with reading(store) as session:
        document_row(session, name)
        return tuple(sweep_of(row) for row in session.scalars(statement))


def load_sweep(store: Engine, sweep: int) -> SweepReport:
    """Returns a saved sweep by its id; raises NotFoundError, or InputError for fields that are not known here."""
    with reading(store) as session:
        content = sweep_row(session, sweep).results
    return parse_record(SweepReport, content, f"sweep {sweep}")


def archive_sweep(store: Engine, sweep: int, *, author: str) -> None:
    """Puts a sweep out of sight; nothing is deleted. Raises NotFoundError."""
    check_texts(author=author)
    with writing(store) as session:
        put_away(sweep_row(session, sweep), author)


def unarchive_sweep(store: Engine, sweep: int) -> None:
    """Takes a sweep out of the archive. Raises NotFoundError."""
    with writing(store) as session:
        take_back(sweep_row(session, sweep))
