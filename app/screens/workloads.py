"""Workloads and fleet: the problem in tables, with what is wrong beside the cells; examples and files to begin with."""

from dataclasses import replace
from typing import Any, Literal, get_args

import pandas as pd
import streamlit as st

from sliceplan.app.session.session import Session, Tables, open_problem
from sliceplan.app.session.stated import findings_of, state
from sliceplan.app.tables import problem as problem_tables
from sliceplan.app.tables.edits import with_edits
from sliceplan.solver.formats.problem_files import dump_problem, example_problems, parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.problem import FleetEntry, Settings, Workload

SETTINGS_IN_A_ROW = 4


def show(session: Session) -> None:
    """Draws the screen."""
    st.caption(
        "State your GPUs and services, then solve: sliceplan finds the cheapest way to cut GPUs with MIG, share them "
        "with MPS or use them whole, and proves it. The demo is loaded; change any cell, or load your own problem."
    )
    _offer_problems(session)
    _edit(session)
    problem = session.problem
    st.download_button(
        "Download problem",
        dump_problem(problem) if problem else "",
        file_name=f"{session.tables.name}.yaml",
        disabled=problem is None,
        key="download_problem",
    )


def _offer_problems(session: Session) -> None:
    examples = example_problems()
    left, right = st.columns(2)
    with left:
        chosen = st.selectbox("Example problems", list(examples), key="example")
        if st.button("Load example", key="load_example"):
            open_problem(session, examples[chosen])
            st.rerun()
    with right:
        upload = st.file_uploader("Or upload a problem (YAML or JSON)", type=["yaml", "yml", "json"], key="upload")
        if upload is not None and st.session_state.get("uploaded") != upload.file_id:
            st.session_state.uploaded = upload.file_id
            try:
                open_problem(session, parse_problem(upload.getvalue().decode("utf-8-sig"), upload.name))
                st.session_state.upload_findings = []
                st.rerun()
            except UnicodeDecodeError:
                st.session_state.upload_findings = [f"{upload.name}: is not UTF-8 text"]
            except InputError as error:
                st.session_state.upload_findings = [str(finding) for finding in error.findings]
        for finding in st.session_state.get("upload_findings", []) if upload is not None else []:
            st.error(finding)


def _edit(session: Session) -> None:
    """Shows the tables and settings; each edit is in the session before the page is drawn again."""
    start, findings = _start_of(session), findings_of(session)
    st.subheader("Fleet")
    _editor(session, start, "fleet", _fleet_columns())
    _show_marks(findings, "fleet", session.tables.fleet)
    st.subheader("Services")
    _editor(session, start, "workloads", _workload_columns())
    _show_marks(findings, "workloads", session.tables.workloads)
    for text in problem_tables.elsewhere(findings):
        st.error(text)
    _edit_settings(session, start.settings)


def _start_of(session: Session) -> Tables:
    """Returns the tables that the editors began with: a widget's edits are kept as changes to these."""
    state = st.session_state
    if state.get("editor_start", (None,))[0] != session.editor:
        state.editor_start = (session.editor, session.tables)
    start: Tables = state.editor_start[1]
    return start


def _editor(session: Session, start: Tables, name: Literal["fleet", "workloads"], columns: dict[str, Any]) -> None:
    key = f"{name}_{session.editor}"
    frame: pd.DataFrame = getattr(start, name)

    def note() -> None:
        # Called before the script runs, so that all of the page shows what the tables state now, at once.
        edited: dict[str, Any] = {name: with_edits(frame, st.session_state[key])}
        state(session, replace(session.tables, **edited))

    st.data_editor(
        frame,
        key=key,
        num_rows="dynamic",
        column_config=columns,
        hide_index=True,
        width="stretch",
        placeholder="",
        on_change=note,
    )


def _show_marks(findings: tuple[Finding, ...], table: str, frame: pd.DataFrame) -> None:
    """Shows the rows that are wrong, with the wrong cells marked, right below their table."""
    marks = problem_tables.marks_of(findings, table, len(frame))
    wrong = [i for i, mark in enumerate(marks) if mark]
    if not wrong:
        return
    st.error(f"{len(wrong)} row{'s' if len(wrong) > 1 else ''} of this table cannot be used:")
    rows = frame.loc[wrong].dropna(axis="columns", how="all").copy()
    rows = rows.map(lambda cell: f"{cell:g}" if isinstance(cell, float) else cell)
    rows.insert(0, "row", [i + 1 for i in wrong])
    rows[problem_tables.MARK] = [marks[i] for i in wrong]
    columns = [[part.split(" ")[0].split("[")[0] for part in marks[i].split("; ")] for i in wrong]

    def red(row: "pd.Series[Any]") -> list[str]:
        bad = columns[wrong.index(row["row"] - 1)]
        return ["background-color: #F8D0C8; color: black" if name in bad else "" for name in row.index]

    st.dataframe(rows.style.apply(red, axis="columns"), hide_index=True, width="stretch")


def _edit_settings(session: Session, settings: dict[str, Any]) -> None:
    with st.expander("Settings"):
        columns: list[Any] = []
        for name, field in Settings.model_fields.items():
            columns = columns or st.columns(SETTINGS_IN_A_ROW)
            column = columns.pop(0)
            value = settings[name]
            key = f"{name}_{session.editor}"
            told: dict[str, Any] = {
                "help": field.description,
                "key": key,
                "on_change": _note_setting,
                "args": (session, name, key),
            }
            if options := get_args(field.annotation):
                column.selectbox(name, options, options.index(value), **told)
            elif isinstance(value, bool):
                column.checkbox(name, value=value, **told)
            else:
                step = 1 if isinstance(value, int) else 0.05 if value < 1 else 5.0
                column.number_input(name, value=value, step=step, **told)


def _note_setting(session: Session, name: str, key: str) -> None:
    settings = {**session.tables.settings, name: st.session_state[key]}
    state(session, replace(session.tables, settings=settings))


def _fleet_columns() -> dict[str, Any]:
    fields = FleetEntry.model_fields
    column = st.column_config
    return {
        "gpu": column.SelectboxColumn(
            "gpu", options=list(load_catalogue()), required=True, help=fields["gpu"].description
        ),
        "count": column.NumberColumn("count", min_value=0, step=1, help=fields["count"].description),
        "price_per_hour": column.NumberColumn(
            "price_per_hour", format="$%.2f", help=fields["price_per_hour"].description
        ),
        "sharing": column.TextColumn("sharing", help=fields["sharing"].description),
        "nodes": column.TextColumn("nodes", help="named nodes and their GPUs, as gpu-node-1:4, gpu-node-2:4"),
    }


def _workload_columns() -> dict[str, Any]:
    fields = Workload.model_fields
    column = st.column_config
    models = sorted({profile.model for profile in shipped_profiles()})
    texts = {name: column.TextColumn(name, help=fields[name].description) for name in ("name", "batch_sizes", "gpus")}
    numbers = {
        name: column.NumberColumn(name, help=fields[name].description)
        for name in ("rate_rps", "slo_ms", "min_replicas", "max_replicas", "memory_mib", "value")
    }
    return {
        **texts,
        **numbers,
        "model": column.SelectboxColumn("model", options=models, help=fields["model"].description),
    }
