"""Workloads and fleet: the problem in tables, with what is wrong beside the cells; examples and files to begin with."""

from typing import Any, get_args

import pandas as pd
import streamlit as st

from sliceplan.app.parts.saved import saved_bar
from sliceplan.app.session.session import Session, Tables, change_tables, open_problem
from sliceplan.app.tables import problem as problem_tables
from sliceplan.solver.formats.problem_files import dump_problem, example_problems, parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.problem import FleetEntry, Problem, Settings, Workload
from sliceplan.solver.performance.resolve import resolve

SETTINGS_IN_A_ROW = 4


def show(session: Session) -> None:
    """Draws the screen."""
    saved_bar(session)
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
    """Shows the tables and settings, and notes in the session what they state now."""
    start = _start_of(session)
    fleet_place, workload_place, settings_place = st.container(), st.container(), st.container()
    with settings_place:
        settings = _edit_settings(session, start.settings)
    with fleet_place:
        st.subheader("Fleet")
        fleet = _editor(session, start.fleet, "fleet", _fleet_columns())
        fleet_marks = st.container()
    with workload_place:
        st.subheader("Services")
        workloads = _editor(session, start.workloads, "workloads", _workload_columns())
        workload_marks = st.container()
    problem, findings = _stated(start.name, fleet, workloads, settings)
    with fleet_marks:
        _show_marks(findings, "fleet", fleet)
    with workload_marks:
        _show_marks(findings, "workloads", workloads)
    for text in problem_tables.elsewhere(findings):
        st.error(text)
    now = session.tables
    if not (fleet.equals(now.fleet) and workloads.equals(now.workloads) and settings == now.settings):
        change_tables(session, Tables(start.name, fleet, workloads, settings), problem)
        st.rerun()


def _start_of(session: Session) -> Tables:
    """Returns the tables that the editors began with: a widget's edits are kept as changes to these."""
    state = st.session_state
    if state.get("editor_start", (None,))[0] != session.editor:
        state.editor_start = (session.editor, session.tables)
    start: Tables = state.editor_start[1]
    return start


def _stated(
    name: str, fleet: pd.DataFrame, workloads: pd.DataFrame, settings: dict[str, Any]
) -> tuple[Problem | None, tuple[Finding, ...]]:
    try:
        problem = problem_tables.problem_of(name, fleet, workloads, settings)
        resolve(problem, shipped_profiles(), problem_tables.SOURCE)
    except InputError as error:
        return None, tuple(error.findings)
    return problem, ()


def _editor(session: Session, frame: pd.DataFrame, name: str, columns: dict[str, Any]) -> pd.DataFrame:
    key = f"{name}_{session.editor}"
    edited: pd.DataFrame = st.data_editor(
        frame, key=key, num_rows="dynamic", column_config=columns, hide_index=True, width="stretch", placeholder=""
    )
    return edited.reset_index(drop=True)


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


def _edit_settings(session: Session, settings: dict[str, Any]) -> dict[str, Any]:
    with st.expander("Settings"):
        edited: dict[str, Any] = {}
        columns: list[Any] = []
        for name, field in Settings.model_fields.items():
            columns = columns or st.columns(SETTINGS_IN_A_ROW)
            column = columns.pop(0)
            value = settings[name]
            key = f"{name}_{session.editor}"
            if options := get_args(field.annotation):
                edited[name] = column.selectbox(name, options, options.index(value), help=field.description, key=key)
                continue
            if isinstance(value, bool):
                edited[name] = column.checkbox(name, value=value, help=field.description, key=key)
                continue
            step = 1 if isinstance(value, int) else 0.05 if value < 1 else 5.0
            edited[name] = column.number_input(name, value=value, step=step, help=field.description, key=key)
    return edited


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
