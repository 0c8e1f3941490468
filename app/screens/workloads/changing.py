"""One row of a table in a form: where cells are too small to type into, and to duplicate or remove a row by a press."""

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.problem_state import state
from sliceplan.app.session.session import Session
from sliceplan.app.tables.catalogue import free_name
from sliceplan.app.tables.labels import LABELS
from sliceplan.app.tables.names import IN_FILES
from sliceplan.app.tables.pasted_header import Table
from sliceplan.app.tables.problem import FLOATS, INTEGERS, typed
from sliceplan.app.widgets.dialogs import dialog
from sliceplan.app.widgets.texts import literal

FIELDS: dict[Table, tuple[tuple[str, str], ...]] = {
    "fleet": (("count", "How many GPUs"), ("price_per_hour", "Price, USD per hour"), ("sharing", "Divided by")),
    "workloads": (
        ("name", "Name"),
        ("model", "Model"),
        ("rate_rps", "Requests per second"),
        ("slo_ms", "SLO, milliseconds"),
    ),
}
"""The cells that people change, and what they are called."""


@dialog("Change a row", width="medium")
def change_row(session: Session, table: Table) -> None:
    """Changes, duplicates or removes one row of the services or of the GPUs."""
    frame: pd.DataFrame = getattr(session.tables, table)
    chosen: int = st.selectbox(
        "Which", range(len(frame)), format_func=lambda row: str(frame.iloc[row, 0]), key=f"{table}_to_change"
    )
    row = frame.iloc[chosen]
    cells = {name: _ask(table, name, label, row[name], chosen) for name, label in FIELDS[table]}
    with st.container(horizontal=True):
        if st.button("Change it", type="primary", key=f"{table}_change"):
            rows = _rows(frame)
            rows[chosen] = {**rows[chosen], **cells}
            _put(session, table, frame, rows)
        if st.button("Duplicate it", key=f"{table}_duplicate"):
            copy = {**_rows(frame)[chosen], **cells}
            if table == "workloads":
                copy |= {"name": free_name(str(row["name"]), frame["name"].dropna()), IN_FILES: None}
            _put(session, table, frame, [*_rows(frame), copy])
        if st.button("Remove it", key=f"{table}_remove"):
            _put(session, table, frame, [one for i, one in enumerate(_rows(frame)) if i != chosen])
    st.caption(literal("The other columns are in the table on a wider window. Undo takes any of this back."))


def _ask(table: Table, name: str, label: str, cell: Any, row: int) -> Any:
    """Returns what stands in a cell's field; None: it is empty."""
    meaning = LABELS[table][name].meaning
    key = f"{table}_{name}_of_{row}"
    missing = pd.isna(cell)
    if name == "model":
        models = sorted({profile.model for profile in known_profiles()} | ({str(cell)} if not missing else set()))
        at = None if missing else models.index(str(cell))
        return st.selectbox(label, models, index=at, accept_new_options=True, key=key, help=meaning)
    if name in INTEGERS:
        return st.number_input(label, value=None if missing else int(cell), step=1, key=key, help=meaning)
    if name in FLOATS:
        return st.number_input(label, value=None if missing else float(cell), format="%g", key=key, help=meaning)
    return st.text_input(label, "" if missing else str(cell), key=key, help=meaning) or None


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]  # columns have names
    return rows


def _put(session: Session, table: Table, frame: pd.DataFrame, rows: list[Any]) -> None:
    changed: dict[str, Any] = {table: typed(pd.DataFrame(rows, columns=list(frame.columns)))}
    state(session, replace(session.tables, **changed))
    session.editor += 1
    st.rerun()
