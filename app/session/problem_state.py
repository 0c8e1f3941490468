"""What the tables of a session state: a problem, or what is wrong with them. Worked out once for each change."""

from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.tables import problem as problem_tables
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.resolve import resolve

from .kept import Kept
from .session import Session, Tables, TablesState, change_tables

STATED = Kept["tuple[Tables, Problem | None, tuple[Finding, ...]]"]("workloads.stated")
"""Where the session keeps tables, the problem that they state, and the findings in them."""

TRIED = Kept["tuple[Tables, Problem | None, tuple[Finding, ...]]"]("workloads.tried")
"""The same of tables that somebody looks at before they become the session's."""


def stated(tables: Tables) -> tuple[Problem | None, tuple[Finding, ...]]:
    """Returns the problem that tables state, None if something is wrong, and what that is."""
    try:
        problem = problem_tables.problem_of(
            tables.name,
            tables.fleet,
            tables.workloads,
            tables.settings,
            tables.prices,
            tables.price_books,
            tables.profiles,
        )
        resolve(problem, known_profiles(), problem_tables.SOURCE)
    except InputError as error:
        return None, tuple(error.findings)
    return problem, ()


def wrong_in(problem: Problem) -> tuple[Finding, ...]:
    """Returns what keeps a problem of a file from being planned, as a GPU type that is divided as it cannot be."""
    try:
        resolve(problem, known_profiles(), problem_tables.SOURCE)
    except InputError as error:
        return tuple(error.findings)
    return ()


def found_in(session: Session, tables: Tables) -> tuple[Finding, ...]:
    """Returns what is wrong in tables that may become the session's; what they state is not worked out again then."""
    problem, findings = stated(tables)
    TRIED.keep(session, (tables, problem, findings))
    return findings


def state(session: Session, tables: Tables) -> None:
    """Makes changed tables those of the session, with what they state; nothing if they are what they were."""
    if same_tables(tables, session.tables):
        return
    tried = TRIED.taken(session)
    problem, findings = tried[1:] if tried is not None and tried[0] is tables else stated(tables)
    change_tables(session, tables, problem)
    STATED.keep(session, (tables, problem, findings))


def undo(session: Session) -> None:
    """Goes back to what the tables were before the last change; nothing if there was none."""
    if not session.past:
        return
    step = session.past[-1]
    session.past = session.past[:-1]
    session.future = (*session.future, TablesState(session.tables, session.saved_as, step.opened))
    _go_to(session, step)


def redo(session: Session) -> None:
    """Makes the change again that was undone last; nothing if none was since the last other change."""
    if not session.future:
        return
    step = session.future[-1]
    session.future = session.future[:-1]
    session.past = (*session.past, TablesState(session.tables, session.saved_as, step.opened))
    _go_to(session, step)


def _go_to(session: Session, step: TablesState) -> None:
    session.tables = step.tables
    if step.opened:
        session.saved_as = step.saved_as
    findings_of(session)
    session.editor += 1


def findings_of(session: Session) -> tuple[Finding, ...]:
    """Returns what is wrong in the session's tables, and makes what they state the session's problem."""
    known: tuple[Tables, Problem | None, tuple[Finding, ...]] | None = STATED.of(session)
    if known is None or known[0] is not session.tables:
        known = (session.tables, *stated(session.tables))
        STATED.keep(session, known)
    _, session.problem, findings = known
    return findings


def same_tables(one: Tables, other: Tables) -> bool:
    """Tells whether two tables hold the same."""
    return one is other or (
        one.name == other.name
        and one.settings == other.settings
        and (one.prices, one.price_books) == (other.prices, other.price_books)
        and one.profiles == other.profiles
        and one.fleet.equals(other.fleet)
        and one.workloads.equals(other.workloads)
    )
