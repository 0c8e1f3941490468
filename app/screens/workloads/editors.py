"""
The editors of name, fleet, services and prices: each edit is in the session before the page is drawn again.

An undo, or a problem that is opened, puts new editors in the place of the old ones. The browser may send once more what
stood in the old ones, with a press that comes before it has drawn the new ones; that is no edit of what is there now.

Presses of one button that reach the server while the script runs are one press to Streamlit, here and on all screens:
it keeps that there was one, and not how many. That errs to the safe side: nothing is appended, saved or begun twice by
a double click. Undo and redo are a step for each press, as in a spreadsheet: what is pressed after one of them waits in
the browser (in_browser/presses_wait.js) until it shows tables of another number.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd
import streamlit as st
from pydantic.fields import FieldInfo

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.problem_state import findings_of, redo, state, undo
from sliceplan.app.session.session import Session, Tables
from sliceplan.app.tables.edits import rows_in_editor, with_edits
from sliceplan.app.tables.labels import LABELS
from sliceplan.app.tables.matching import matching
from sliceplan.app.tables.names import IN_FILES, called_otherwise, told
from sliceplan.app.tables.pasted_header import Table
from sliceplan.app.tables.problem import INTEGERS, marks_in
from sliceplan.app.widgets.texts import literal, sentence
from sliceplan.solver.model.base import LONGEST_NAME, NAME_PATTERN, Name
from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.price_book import DEFAULT_BOOK, PriceBook, load_price_books
from sliceplan.solver.model.prices import prices_of
from sliceplan.solver.model.problem import MOST_OF_LABEL, FleetEntry, Workload
from sliceplan.solver.wording.sharing_words import SHARING_WORDS

from .row_marks import mark_rows

NAME: FieldInfo = get_args(Name)[1]

LEAST = 1e-6
"""The least that a cell takes where the model wants more than 0."""


FILTER = Kept[tuple[str, str]]("workloads.filter")
"""The problem's name, and what is looked for among its services."""

MORE_COLUMNS = Kept[bool]("workloads.more_columns")
"""Whether the table of the services has the columns too that nothing stands in."""

NEEDED = ("name", "model", "rate_rps", "slo_ms")
"""Columns that a service must have."""

MANY = 10
"""Services from which on one looks for some of them."""


def edit_name(session: Session) -> None:
    """Draws the problem's name."""
    start, number = start_of(session), session.editor
    key = f"name_{number}"

    def note() -> None:
        note_edit(session, number, name=st.session_state[key].strip())

    st.text_input(
        "Problem name",
        start.name,
        key=key,
        on_change=note,
        max_chars=63,
        help=f"name of the problem: {NAME.description}",
    )


def head_with_undo(session: Session, title: str) -> None:
    """Draws the heading of the tables, with undo and redo beside it."""
    # Not Ctrl+Z: that belongs to the text fields and cells, and the page would take it away from them.
    head, back, again = st.container(key="beside_head").columns([5, 2, 2], vertical_alignment="bottom")
    head.header(title)
    back.button(
        "Undo",
        key="undo",
        on_click=undo,
        args=(session,),
        disabled=not session.past,
        help=None if session.past else "Nothing was changed yet.",
        shortcut="Alt+Z",
        width="stretch",
    )
    again.button(
        "Redo",
        key="redo",
        on_click=redo,
        args=(session,),
        disabled=not session.future,
        help=None if session.future else "Nothing was undone.",
        shortcut="Alt+Y",
        width="stretch",
    )


def edit_table(session: Session, name: Table) -> None:
    """Draws one of the tables for editing."""
    number = session.editor
    key = f"{name}_{number}"
    frame: pd.DataFrame = getattr(start_of(session), name)
    seen = matching(frame, looked_for(session)) if name == "workloads" else None

    def note() -> None:
        # Called before the script runs, so that all of the page shows what the tables state now, at once.
        note_edit(session, number, **{name: edited()})

    def edited() -> pd.DataFrame:
        return with_edits(frame, st.session_state[key], seen)

    with st.container(key=f"marked_{name}"):
        _draw_editor(session, name, frame, seen, key, note)
        now: pd.DataFrame = getattr(session.tables, name)
        marks = dict(enumerate(marks_in(findings_of(session), name, now)))
        rows = rows_in_editor(frame, st.session_state[key], seen)
        mark_rows([marks.get(row, "") for row in rows], name)
    if name == "workloads" and (typed_now := _typed_now(frame, edited())):
        st.info(literal(sentence(told(typed_now))))


def choose_columns(session: Session) -> None:
    """Draws the switch for the columns of services that are needed by nobody and empty."""
    if not _unneeded(start_of(session).workloads):
        return
    key = f"more_columns_{session.editor}"

    def note() -> None:
        MORE_COLUMNS.keep(session, st.session_state[key])
        session.editor += 1  # other columns are another table to the browser

    what = "Least and most partitions, batch sizes, GPU types, memory, value, and how many requests are to be in time."
    st.toggle("More columns", MORE_COLUMNS.of(session, False), key=key, on_change=note, help=what)


def _unneeded(frame: pd.DataFrame) -> list[str]:
    """Returns the columns of services that may be empty, and are."""
    return [name for name in frame.columns if name not in (*NEEDED, IN_FILES) and frame[name].isna().all()]


def _hidden(session: Session, frame: pd.DataFrame) -> dict[str, None]:
    """Returns the columns that are not drawn, in the form of Streamlit's column_config."""
    is_short = not MORE_COLUMNS.of(session, False)
    return dict.fromkeys([IN_FILES, *(_unneeded(frame) if is_short else [])])


def _draw_editor(
    session: Session, name: Table, frame: pd.DataFrame, seen: list[int] | None, key: str, note: Callable[[], None]
) -> None:
    st.data_editor(
        frame if seen is None or len(seen) == len(frame) else frame.iloc[seen].reset_index(drop=True),
        key=key,
        num_rows="dynamic",
        column_config=columns_of(session, name)
        | (_hidden(session, frame) if name == "workloads" else {IN_FILES: None}),
        hide_index=True,
        width="stretch",
        placeholder="",
        on_change=note,
    )


def ask_for_filter(session: Session) -> None:
    """
    Draws the field for what is looked for among many services; the table then has those alone.

    Which rows these are is asked of the table as the editors began with it, so a row that is changed stays in sight.
    """
    kept, count = looked_for(session), len(start_of(session).workloads)
    if count < MANY and not kept:
        return
    key = f"workloads_filter_{session.editor}"

    def note() -> None:
        FILTER.keep(session, (session.tables.name, st.session_state[key]))
        session.editor += 1

    st.text_input(
        "Only services with",
        kept,
        key=key,
        on_change=note,
        placeholder="Letters of a name, model or GPU type; Enter",
    )
    if kept:
        found = len(matching(start_of(session).workloads, kept))
        st.caption(f"{found:,} of {count:,} services. The others stay in the problem.")


def looked_for(session: Session) -> str:
    """Returns what is looked for among the services of this problem; empty: all are shown."""
    of, text = FILTER.of(session, ("", ""))
    return text if of == session.tables.name else ""


def _typed_now(start: pd.DataFrame, now: pd.DataFrame) -> dict[str, str]:
    """Returns what files call otherwise than people do, of what was typed since an editor began."""
    if now["name"].equals(start["name"]):
        return {}
    before = called_otherwise(_named_rows(start))
    return {label: name for label, name in called_otherwise(_named_rows(now)).items() if label not in before}


def _named_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    named = frame[["name", IN_FILES]]
    rows: list[dict[str, Any]] = named.to_dict("records")  # type: ignore[assignment]  # columns have names
    return rows


def edit_prices(session: Session) -> None:
    """Draws the choice of the price book, and what the fleet's GPUs cost by it."""
    start, number = start_of(session), session.editor
    books = {**load_price_books(), **{book.name: book for book in start.price_books}}
    named = start.prices or DEFAULT_BOOK
    key = f"prices_{number}"

    def note() -> None:
        chosen = st.session_state[key]
        note_edit(session, number, prices=None if chosen == DEFAULT_BOOK else chosen)

    options = list(dict.fromkeys([*books, named]))
    choice, told = st.columns([2, 5], vertical_alignment="bottom")
    choice.selectbox(
        "Prices of GPUs",
        options,
        options.index(named),
        key=key,
        on_change=note,
        help="the price book for GPUs without a price of their own in the table; for reserved or spot: *Price factor*",
    )
    told.caption(_paid(session, books))


def _paid(session: Session, books: Mapping[str, PriceBook]) -> str:
    """Returns whose the chosen prices are, and what each GPU type of the fleet costs."""
    book = books.get(session.tables.prices or DEFAULT_BOOK)
    if book is None:
        return "There is no such price book."
    whose = literal(f"{book.what}, read {book.dates}")
    if session.problem is None:
        return whose
    costs = [
        literal(f"{price.gpu} ${price.usd_per_hour:,.2f} ({price.date or 'your own'})")
        for price in prices_of(session.problem)
    ]
    return f"{whose}. {', '.join(costs)}"


def note_edit(session: Session, number: int, **edited: Any) -> None:
    """Notes fields of the tables as an editor of that number has them; nothing if another is in its place by now."""
    if number == session.editor:
        state(session, replace(session.tables, **edited))


def start_of(session: Session) -> Tables:
    """Returns the tables that the editors began with: a widget's edits are kept as changes to these."""
    kept = st.session_state
    if kept.get("editor_start", (None,))[0] != session.editor:
        kept.editor_start = (session.editor, session.tables)
    start: Tables = kept.editor_start[1]
    return start


def columns_of(session: Session, name: Table) -> dict[str, Any]:
    """Returns how the columns of one of the tables are called, explained and typed into."""
    frame: pd.DataFrame = getattr(start_of(session), name)
    fields = (FleetEntry if name == "fleet" else Workload).model_fields
    types = _fleet_types(frame) if name == "fleet" else _service_types(session, frame)
    found: dict[str, Any] = {}
    for key, label in LABELS[name].items():
        kind, options = types.get(key) or (st.column_config.NumberColumn, _limits_of(key, fields[key]))
        found[key] = kind(label.text, help=label.meaning, **options)
    return found


def _fleet_types(frame: pd.DataFrame) -> dict[str, tuple[Any, dict[str, Any]]]:
    column = st.column_config
    return {
        "gpu": (column.SelectboxColumn, {"options": _options([*load_catalogue(), *load_cpus()], frame["gpu"])}),
        "sharing": (column.TextColumn, {"validate": _list_of("|".join([*SHARING_WORDS.values(), *SHARING_WORDS]))}),
        "nodes": (column.TextColumn, {"validate": _list_of(r"[A-Za-z0-9._-]+\s*:\s*\d+")}),
    }


def _service_types(session: Session, frame: pd.DataFrame) -> dict[str, tuple[Any, dict[str, Any]]]:
    column = st.column_config
    models = _options(sorted({profile.model for profile in profiles_of(session)}), frame["model"])
    types = "|".join([*load_catalogue(), *load_cpus()]).replace(".", r"\.")
    return {
        "name": (column.TextColumn, {"max_chars": MOST_OF_LABEL}),
        IN_FILES: (column.TextColumn, {"max_chars": LONGEST_NAME, "validate": NAME_PATTERN}),
        "model": (column.SelectboxColumn, {"options": models}),
        "batch_sizes": (column.TextColumn, {"validate": _list_of(r"\d+")}),
        "gpus": (column.TextColumn, {"validate": _list_of(types)}),
    }


def _options(known: Iterable[str], used: "pd.Series[Any]") -> list[str]:
    """Returns what can be chosen: what is known, and what stands there though it is not, so that it can be seen."""
    return list(dict.fromkeys([*known, *used.dropna()]))


def _limits_of(name: str, field: FieldInfo) -> dict[str, Any]:
    least, most = _limits(field.metadata)
    form = "$%.2f" if name == "price_per_hour" else None
    return {"min_value": least, "max_value": most, "step": 1 if name in INTEGERS else None, "format": form}


def _limits(metadata: Sequence[Any]) -> tuple[float | None, float | None]:
    """Returns the least and the greatest value that a field of a record takes; None: no limit."""
    above = [rule.gt if rule.gt != 0 else LEAST for rule in metadata if hasattr(rule, "gt")]
    least = [*above, *(rule.ge for rule in metadata if hasattr(rule, "ge"))]
    most = [rule.le for rule in metadata if hasattr(rule, "le")]
    return max(least, default=-math.inf) if least else None, min(most) if most else None


def _list_of(item: str) -> str:
    """Returns the pattern of items with commas between them, or of nothing."""
    return rf"^\s*((?:{item})\s*(,\s*(?:{item})\s*)*)?$"
