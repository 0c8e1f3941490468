"""A table from a spreadsheet: pasted as text or uploaded as CSV, looked at row by row, then put into the problem."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd
import streamlit as st

from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.problem_state import state, stated
from sliceplan.app.session.session import Session, Tables
from sliceplan.app.session.uploaded import MOST_MIB, text_of
from sliceplan.app.tables.labels import texts_of
from sliceplan.app.tables.pasted import Pasted, Table, read_table
from sliceplan.app.tables.problem import marks_of, typed
from sliceplan.app.widgets.dialogs import dialog
from sliceplan.app.widgets.tables import heads_of, show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.sharing import Sharing

from .beginning import show_findings
from .marks import show_marks

SAMPLES: Mapping[Table, str] = {
    "fleet": "gpu\tcount\tprice\tsharing\nA100-80GB\t8\t3.43\tmig",
    "workloads": "service\tmodel\trps\tslo (ms)\nsearch\tresnet50\t120\t200",
}


@dialog("Paste a table", width="medium")
def paste_table(session: Session, table: Table) -> None:
    """Takes a table of services, or of GPUs, and appends it or puts it in the old one's place."""
    st.caption(
        "Copy cells in your spreadsheet, with the line of column names, and paste them here, or choose a CSV file. "
        "Columns may stand in any order. Usual names such as *service*, *rps*, *qps*, *slo*, *latency* are understood; "
        "latencies are in milliseconds, rates in requests per second."
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
        st.info("Nothing is here yet. What was understood is shown before anything changes.")
        return
    read = read_table(text, table, _known(session))
    for problem in read.problems:
        st.error(literal(problem))
    if read.problems:
        return
    for note in read.notes:
        st.caption(literal(note))
    old: pd.DataFrame = getattr(session.tables, table)
    show_marks(read.rows, _marks(session, table, read), "must be looked at", table, "pasted")
    show_table(
        read.rows[list(read.columns)],
        "pasted_rows",
        columns=heads_of(texts_of(table)),
        placeholder="",
        height=240 if len(read.rows) > 6 else "content",
    )
    if not read.is_right:
        st.caption("Some cells cannot be read. Put them right above, or in your file, and they can be taken.")
    append, put = st.columns(2)
    count = f"{len(read.rows):,} row{'s' if len(read.rows) > 1 else ''}"
    if append.button(f"Append {count}", key=f"append_{table}", disabled=not read.is_right, width="stretch"):
        _take(session, table, typed(pd.concat([old, read.rows], ignore_index=True)))
    if put.button(
        f"Replace the {len(old):,} with {count}", key=f"replace_{table}", disabled=not read.is_right, width="stretch"
    ):
        _take(session, table, read.rows)


def _take(session: Session, table: Table, rows: pd.DataFrame) -> None:
    state(session, _with(session.tables, table, rows))
    session.editor += 1
    st.rerun()


def _marks(session: Session, table: Table, read: Pasted) -> Sequence[str]:
    """Returns for each row which cells cannot be read, else what the problem's model says of it."""
    if not read.is_right:
        return read.marks
    _, findings = stated(_with(session.tables, table, read.rows))
    return marks_of(findings, table, len(read.rows))


def _with(tables: Tables, table: Table, rows: pd.DataFrame) -> Tables:
    changed: dict[str, Any] = {table: rows}
    return replace(tables, **changed)


def _known(session: Session) -> dict[str, Sequence[str]]:
    gpus = [*load_catalogue(), *load_cpus()]
    models = sorted({profile.model for profile in profiles_of(session)})
    return {"gpu": gpus, "gpus": gpus, "model": models, "sharing": list(get_args(Sharing))}
