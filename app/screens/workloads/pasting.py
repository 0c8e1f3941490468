"""A table from a spreadsheet: pasted as text or uploaded as CSV, looked at row by row, then put into the problem."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd
import streamlit as st

from sliceplan.app.session.column_choices import is_open
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.problem_state import found_in, state
from sliceplan.app.session.session import Session, Tables
from sliceplan.app.session.uploaded import MOST_MIB, text_of
from sliceplan.app.tables.labels import in_words, texts_of
from sliceplan.app.tables.pasted import read_table
from sliceplan.app.tables.pasted_header import Table
from sliceplan.app.tables.problem import marks_of, typed
from sliceplan.app.widgets.column_choice import choose_columns
from sliceplan.app.widgets.dialogs import dialog
from sliceplan.app.widgets.tables import heads_of, show_table
from sliceplan.app.widgets.texts import literal, sentence
from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.sharing import Sharing

from .beginning import show_findings
from .marks import show_marks

SAMPLES: Mapping[Table, str] = {
    "fleet": "gpu\tcount\tprice\tdivided by\nA100-80GB\t8\t3.43\tMIG",
    "workloads": "service\tmodel\trps\tslo (ms)\nsearch\tresnet50\t120\t200",
}

TAKEN = Kept[bool]("pasting.taken")
"""Where the session keeps, until the dialog is drawn again, that what was pasted was taken."""


def paste_table(session: Session, table: Table) -> None:
    """Opens the dialog."""
    TAKEN.forget(session)
    _paste_table(session, table)


@dialog("Paste a table", width="medium")
def _paste_table(session: Session, table: Table) -> None:
    """Takes a table of services, or of GPUs, and appends it or puts it in the old one's place."""
    if TAKEN.taken(session):
        st.rerun()
    st.caption(
        "Copy cells in your spreadsheet, with their column names, and paste them here, or choose a CSV file. Columns "
        "may be in any order. Usual names such as *service*, *rps*, *qps*, *slo*, *latency* are understood; "
        "latencies are in milliseconds and rates in requests per second, unless the table says otherwise."
    )
    text = st.text_area("Cells", key=f"pasted_{table}", height=160, placeholder=SAMPLES[table])
    file = st.file_uploader(
        "CSV file",
        type=["csv", "tsv", "txt"],
        key=f"csv_{table}",
        max_upload_size=MOST_MIB,
        label_visibility="collapsed",
    )
    if file is not None:
        try:
            text = text_of(file.name, file.getvalue())
        except InputError as error:
            show_findings(file.name, error.findings)
            return
    if not text.strip():
        st.info("You will see how it was read before anything changes.")
        return
    read = read_table(text, table, _known(session))
    if table == "workloads" and is_open(read.header):
        read = read_table(text, table, _known(session), choose_columns(read.header, "pasted"))
    for problem in read.problems:
        st.error(literal(in_words(problem)))
    if read.problems:
        return
    for note in read.notes:
        st.caption(literal(sentence(in_words(note))))
    old: pd.DataFrame = getattr(session.tables, table)
    replaced = _with(session.tables, table, read.rows)
    marks = marks_of(found_in(session, replaced), table, len(read.rows)) if read.is_right else read.marks
    show_marks(read.rows, marks, "must be looked at", table, "pasted")
    show_table(
        read.rows[list(read.columns)],
        "pasted_rows",
        columns=heads_of(texts_of(table)),
        placeholder="",
        height=240 if len(read.rows) > 6 else "content",
    )
    if not read.is_right:
        st.caption("Some cells cannot be read. Correct them above, or in your file, to continue.")
    append, put = st.columns(2)
    count = f"{len(read.rows):,} row{'s' if len(read.rows) > 1 else ''}"
    append.button(
        f"Append {count}",
        key=f"append_{table}",
        disabled=not read.is_right,
        width="stretch",
        on_click=_append,
        args=(session, table, read.rows),
    )
    put.button(
        f"Replace the {len(old):,} with {count}",
        key=f"replace_{table}",
        disabled=not read.is_right,
        width="stretch",
        on_click=_take,
        args=(session, replaced),
    )


def _append(session: Session, table: Table, rows: pd.DataFrame) -> None:
    old: pd.DataFrame = getattr(session.tables, table)
    _take(session, _with(session.tables, table, typed(pd.concat([old, rows], ignore_index=True))))


def _take(session: Session, tables: Tables) -> None:
    """Makes tables the session's before the dialog is drawn again, which then closes and is sent to nobody."""
    state(session, tables)
    session.editor += 1
    TAKEN.keep(session, True)


def _with(tables: Tables, table: Table, rows: pd.DataFrame) -> Tables:
    changed: dict[str, Any] = {table: rows}
    return replace(tables, **changed)


def _known(session: Session) -> dict[str, Sequence[str]]:
    gpus = [*load_catalogue(), *load_cpus()]
    models = sorted({profile.model for profile in profiles_of(session)})
    return {"gpu": gpus, "gpus": gpus, "model": models, "sharing": list(get_args(Sharing))}
