"""
What a session works on, kept beyond a restart of the server: its tables as they were typed, and its plan.

A thread writes drafts after the run of the page that changed them, one after the other, the latest state of each. A
draft that cannot be written is not, as nobody asked for it; the page says so where work is looked for in vain.
"""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from sliceplan.app.store.records import VersionKey
from sliceplan.app.tables.problem import FLEET_COLUMNS, WORKLOAD_COLUMNS, typed
from sliceplan.solver.model.errors import InputError, SliceplanError
from sliceplan.solver.model.judged import Judged, judged
from sliceplan.solver.model.parsing import parse_record
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.price_book import PriceBook
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

from .problem_state import stated
from .session import Answer, Result, Session, Tables, tables_of
from .stand_ins import STAND_INS, StandIn

MOST_ROWS = 20_000
"""Of tables, and partitions of a plan: writing more would hold up those who use the page."""

VERSION = 1


@dataclass(frozen=True)
class Draft:
    """All that is kept of a session; as it is replaced and never changed, it may be written later."""

    user: str
    tables: Tables
    saved_as: VersionKey | None
    answer: Answer | None
    improved: tuple[tuple[float, Judged], ...] = ()
    """How the search for the answer went, as in its Result."""
    stand_ins: tuple[StandIn, ...] = ()


@dataclass
class Drafts:
    """The drafts in a folder, and those that wait to be written there."""

    folder: Path
    _noted: dict[str, Draft] = field(default_factory=dict)
    _waiting: dict[str, Draft] = field(default_factory=dict)
    _changing: threading.Lock = field(default_factory=threading.Lock)
    _writer: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "drafts"))

    def note(self, token: str, session: Session) -> None:
        """Has a session's state written, if it has changed since."""
        answer = session.answer
        improved = session.results["solve"].improved if answer is not None else ()
        stand_ins = STAND_INS.of(session, ())
        draft = Draft(session.user, session.tables, session.saved_as, answer, improved, stand_ins)
        with self._changing:
            if _same(self._noted.get(token), draft):
                return
            self._noted[token] = self._waiting[token] = draft
        self._writer.submit(self._write)

    def _write(self) -> None:
        from sliceplan.app.store.drafts import write_draft

        with self._changing:
            waiting, self._waiting = self._waiting, {}
        for token, draft in waiting.items():
            if len(draft.tables.workloads) <= MOST_ROWS:
                with suppress(OSError, TypeError, ValueError, SliceplanError):
                    write_draft(self.folder, token, text_of(draft))

    def written(self) -> None:
        """Waits until all that was noted is written."""
        self._writer.submit(lambda: None).result()

    def session_of(self, token: str, user: str) -> Session | None:
        """Returns the session that a user's draft keeps; None: there is none, or it is somebody else's or damaged."""
        from sliceplan.app.store.drafts import read_draft

        text = read_draft(self.folder, token)
        return None if text is None else opened(text, user)


def _same(one: Draft | None, other: Draft) -> bool:
    if one is None or one.tables is not other.tables or one.saved_as != other.saved_as:
        return False
    return (one.answer and one.answer.plan) is (other.answer and other.answer.plan)


def text_of(draft: Draft) -> str:
    """Returns a draft as JSON."""
    tables, answer = draft.tables, draft.answer
    if answer is not None and sum(len(gpu.partitions) for gpu in answer.plan.gpus) > MOST_ROWS:
        answer = None
    data = {
        "version": VERSION,
        "user": draft.user,
        "saved_as": None if draft.saved_as is None else asdict(draft.saved_as),
        "name": tables.name,
        "fleet": _rows(tables.fleet),
        "workloads": _rows(tables.workloads),
        "settings": tables.settings,
        "prices": tables.prices,
        "price_books": [one.model_dump(mode="json") for one in tables.price_books],
        "profiles": [one.model_dump(mode="json") for one in tables.profiles],
        "answered": None if answer is None else answer.problem.model_dump(mode="json"),
        "plan": None if answer is None else answer.plan.model_dump(mode="json"),
        "improved": [[seconds, one.value, one.bound, one.gap] for seconds, one in draft.improved],
        "stand_ins": [asdict(one) for one in draft.stand_ins],
    }
    return json.dumps(data, default=_as_data)


def opened(text: str, user: str) -> Session | None:
    """Returns the session that JSON keeps; None: it is somebody else's, of another version, or damaged."""
    try:
        data = json.loads(text)
        if data["version"] != VERSION or data["user"] != user:
            return None
        tables = Tables(
            name=str(data["name"]),
            fleet=_table(data["fleet"], FLEET_COLUMNS),
            workloads=_table(data["workloads"], WORKLOAD_COLUMNS),
            settings=dict(data["settings"]),
            prices=data["prices"],
            price_books=tuple(parse_record(PriceBook, one, "draft") for one in data["price_books"]),
            profiles=tuple(parse_record(Profile, one, "draft") for one in data["profiles"]),
        )
        problem = stated(tables)[0]
        if problem is not None:  # lists of JSON are tuples there
            tables = replace(tables, settings=tables_of(problem).settings)
        session = Session(user, tables, problem)
        if data["saved_as"] is not None:
            session.saved_as = VersionKey(str(data["saved_as"]["document"]), int(data["saved_as"]["number"]))
        if data["plan"] is not None:
            answered, plan = parse_record(Problem, data["answered"], "draft"), parse_record(Plan, data["plan"], "draft")
            objective = judged(plan).objective  # drafts of earlier versions do not have how it improved
            improved = tuple((one, Judged(objective, *rest)) for one, *rest in data.get("improved", ()))
            session.results["solve"] = Result(answered, plan, improved=improved)
        STAND_INS.keep(session, tuple(StandIn(**one) for one in data.get("stand_ins", ())))
    except (ValueError, KeyError, TypeError, AttributeError, InputError):
        return None
    return session


def _as_data(value: object) -> object:
    """Returns a record among the settings as data."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"a draft has a {type(value).__name__}")


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Returns the rows with None for what is empty."""
    cells = table.astype("object")
    rows = cells.where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    return typed(pd.DataFrame(rows, columns=list(columns)))


_kept: Drafts | None = None


def keep_drafts(folder: Path) -> None:
    """Keeps the drafts of this server in a folder from now on."""
    global _kept
    _kept = Drafts(folder)


def drafts() -> Drafts | None:
    """Returns where this server keeps drafts; None: nowhere."""
    return _kept
