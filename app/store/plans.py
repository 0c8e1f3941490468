"""Plans: saved beside the version of the problem that they answer, archived."""

from datetime import UTC, datetime

from sqlalchemy import Engine

from ...solver.model.digest import reference
from ...solver.model.errors import Finding, InputError
from ...solver.model.plan import Plan
from .archiving import is_archived, put_away, take_back
from .contents import content_of, record_of
from .problems import load_problem
from .records import SavedPlan, VersionKey, plan_of
from .rows import document_row, open_document_row, plan_row, plans_statement, version_row
from .tables import DocumentRow, PlanRow
from .texts import check_texts
from .transactions import reading, writing


def save_plan(store: Engine, plan: Plan, *, problem: VersionKey, author: str, note: str = "") -> SavedPlan:
    """
    Saves a plan for a version of a problem; any number of them may be saved for one.

    Raises
    ------
    InputError
        If the plan answers another problem, or author or note cannot be kept.
    ArchivedError
        If the problem was archived.
    StoreError
        If there is no such version, or the database refuses.
    """
    check_texts(author=author, note=note)
    _require_answer(store, plan, problem)
    row = PlanRow(
        planner=plan.planner,
        status=plan.status.value,
        cost_per_hour=plan.cost_per_hour,
        gpus_used=plan.gpus_used,
        bound_cost_per_hour=plan.bound.cost_per_hour,
        gap=plan.gap,
        runtime_s=plan.runtime_s,
        content=content_of(plan),
        author=author,
        note=note,
    )
    with writing(store) as session:
        open_document_row(session, problem.document)
        row.version, row.saved_at = version_row(session, problem), datetime.now(UTC)
        session.add(row)
        session.flush()
        return plan_of(row)


def plans(store: Engine, name: str, *, archived: bool = False) -> tuple[SavedPlan, ...]:
    """
    Returns the plans for all versions of a problem, the last saved first: those in use, or the archived ones.

    Raises NotFoundError.
    """
    statement = (
        plans_statement()
        .where(DocumentRow.name == name)
        .where(is_archived(PlanRow, archived))
        .order_by(PlanRow.saved_at.desc(), PlanRow.id.desc())
    )
    with reading(store) as session:
        document_row(session, name)
        return tuple(plan_of(row) for row in session.scalars(statement))


def load_plan(store: Engine, plan: int) -> Plan:
    """Returns a saved plan by its id; raises NotFoundError, or InputError for fields that are not known here."""
    with reading(store) as session:
        content = plan_row(session, plan).content
    return record_of(Plan, content, f"plan {plan}")


def archive_plan(store: Engine, plan: int, *, author: str) -> None:
    """Puts a plan out of sight; nothing is deleted. Raises NotFoundError."""
    check_texts(author=author)
    with writing(store) as session:
        put_away(plan_row(session, plan), author)


def unarchive_plan(store: Engine, plan: int) -> None:
    """Takes a plan out of the archive. Raises NotFoundError."""
    with writing(store) as session:
        take_back(plan_row(session, plan))


def _require_answer(store: Engine, plan: Plan, problem: VersionKey) -> None:
    with reading(store) as session:
        saved = version_row(session, problem).sha256
    # Both, for a sliceplan of before version 0.1.0 filled other fields in when it saved the problem.
    if plan.problem.sha256 not in (saved, reference(load_problem(store, problem)).sha256):
        message = (
            f"answers another problem ({plan.problem.name}) than {problem}; save that problem first, or solve this one"
        )
        raise InputError([Finding("<plan>", "problem.sha256", message)])
