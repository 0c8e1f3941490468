"""What one browser session works on. All of it is replaced, never changed in place, so that a copy is a snapshot."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from sliceplan.app.store.records import VersionKey
from sliceplan.app.tables.problem import fleet_table, workload_table
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.judged import Judged
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.price_book import PriceBook
from sliceplan.solver.model.problem import Problem, Settings
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.wording.shown_names import text_as_shown


@dataclass(frozen=True)
class Tables:
    """A problem as the editors show it; rows may be wrong."""

    name: str
    fleet: pd.DataFrame
    workloads: pd.DataFrame
    settings: dict[str, Any]
    """By the fields of Settings."""
    prices: str | None = None
    """Name of the price book; None: the default one."""
    price_books: tuple[PriceBook, ...] = ()
    """Those of the problem itself."""
    profiles: tuple[Profile, ...] = ()
    """Those of the problem itself."""


@dataclass(frozen=True)
class TablesState:
    """A state of the tables that undo or redo goes back to."""

    tables: Tables
    saved_as: VersionKey | None
    opened: bool
    """Whether another problem was opened between it and the state after or before it; else they were saved alike."""


@dataclass(frozen=True)
class OpenJob:
    """Work under way (app/jobs) and the problem that it answers."""

    id: str
    problem: Problem
    most_s: float | None = None
    """Seconds that it may take by its own limits, where its purpose and its problem do not tell; None: they do."""


@dataclass(frozen=True)
class Result:
    """What came of a job."""

    problem: Problem
    value: Any
    """None: nothing, as `error` or `was_cancelled` says."""
    error: str | None = None
    was_cancelled: bool = False
    improved: tuple[tuple[float, Judged], ...] = ()
    """Of a solve: seconds, and how good its best plan was then, for each that it found on its way."""

    @property
    def why_not(self) -> str | None:
        """The error, with services as people call them."""
        return self.error and text_as_shown(self.error, self.problem.labels)


@dataclass(frozen=True)
class Answer:
    """A plan and the problem that it answers."""

    problem: Problem
    plan: Plan


def is_same(one: Plan, other: Plan) -> bool:
    """Tells whether two plans have the same services in the same places for the same problem, whenever found."""
    return one is other or (one.problem == other.problem and one.gpus == other.gpus)


@dataclass
class Session:
    """The working state that all screens share; widgets show it and are not where it is kept."""

    user: str
    tables: Tables
    problem: Problem | None
    """What the tables state; None: something in them is wrong."""
    saved_as: VersionKey | None = None
    """The version in the store that the tables began as; None: they were never saved."""
    running: Answer | None = None
    """What runs today, for transitions; None: nothing was said about it."""
    open_jobs: dict[str, OpenJob] = field(default_factory=dict)
    """By purpose: solve, compare, sweep and others; a new job of a purpose takes the place of the old one."""
    results: dict[str, Result] = field(default_factory=dict)
    """The last result by purpose."""
    before: Answer | None = None
    """The plan before the one that was found last; None: there was none."""
    past: tuple[TablesState, ...] = ()
    """What the tables were before each change, for undo, latest last."""
    future: tuple[TablesState, ...] = ()
    """Undone changes, for redo, next last."""
    editor: int = 0
    """Number of the editors' present start; another one gives fresh widgets."""
    choices: dict[str, Any] = field(default_factory=dict)
    """What was chosen on a screen, by `screen.what`, and is there again on return and after a reload."""

    @property
    def answer(self) -> Answer | None:
        """The plan that was found last."""
        found = self.results.get("solve")
        return None if found is None or found.value is None else Answer(found.problem, found.value)

    @property
    def comparison(self) -> tuple[Problem, Comparison] | None:
        """The planners that were compared last, and the problem that they answer."""
        found = self.results.get("compare")
        return None if found is None or found.value is None else (found.problem, found.value)

    def is_outdated(self, answered: Problem) -> bool:
        """Tells whether the tables state another problem by now."""
        return self.problem is None or reference(self.problem) != reference(answered)


def tables_of(problem: Problem) -> Tables:
    """Returns a problem as the editors show it."""
    settings = {name: getattr(problem.settings, name) for name in Settings.model_fields}
    tables = fleet_table(problem), workload_table(problem)
    return Tables(problem.name, *tables, settings, problem.prices, problem.price_books, problem.profiles)


def open_problem(session: Session, problem: Problem, saved_as: VersionKey | None = None) -> None:
    """Makes a problem the one that the session works on; what was there before can be had back by undo."""
    change_tables(session, tables_of(problem), problem, opens=True)
    session.saved_as = saved_as
    session.editor += 1


def take_answer(session: Session, answer: Answer) -> None:
    """Makes a plan the one that the screens show, and keeps the one before it."""
    session.before = session.answer
    session.results["solve"] = Result(answer.problem, answer.plan)


def change_tables(session: Session, tables: Tables, problem: Problem | None, *, opens: bool = False) -> None:
    """Notes changed tables and what they state, and keeps the earlier ones for undo."""
    session.past = (*session.past, TablesState(session.tables, session.saved_as, opens))[-MOST_UNDONE:]
    session.future = ()
    session.tables, session.problem = tables, problem


MOST_UNDONE = 50
"""Steps that undo goes back."""
