"""Workloads and fleet: the problem in tables, with what is wrong beside them; examples and files to begin with."""

import streamlit as st

from sliceplan.app.parts.saved import saved_bar
from sliceplan.app.session.session import Session
from sliceplan.app.session.stated import findings_of
from sliceplan.app.tables.pasted import csv_text
from sliceplan.app.tables.problem import elsewhere, marks_in
from sliceplan.solver.formats.problem_files import dump_problem

from .stating.beginning import choose_beginning
from .stating.choosing import add_gpus, add_service
from .stating.editors import edit_name, edit_settings, edit_table
from .stating.marks import show_marks
from .stating.pasting import paste_table


def show(session: Session) -> None:
    """Draws the screen."""
    saved_bar(session)
    st.caption(
        "State your GPUs and services, then solve: sliceplan finds the cheapest way to cut GPUs with MIG, share them "
        "with MPS or use them whole, and proves it. Change any cell, or begin with an example or a file of your own."
    )
    choose_beginning(session)
    edit_name(session)
    findings = findings_of(session)
    for text in elsewhere(findings):
        st.error(text)
    tables = session.tables

    st.subheader("Fleet")
    if tables.fleet.empty:
        st.info("The fleet has no GPUs. Press *Add GPUs* to choose from the catalogue, or paste a table.")
    edit_table(session, "fleet")
    show_marks(tables.fleet, marks_in(findings, "fleet", tables.fleet), "cannot be used")
    add, paste, download, _ = st.columns([2, 2, 2, 3])
    if add.button("Add GPUs", key="add_gpus", width="stretch"):
        add_gpus(session)
    if paste.button("Paste GPUs", key="paste_fleet", width="stretch", help="from a spreadsheet or a CSV file"):
        paste_table(session, "fleet")
    download.download_button(
        "Fleet as CSV",
        csv_text(tables.fleet),
        f"{tables.name}.fleet.csv",
        "text/csv",
        key="fleet_csv",
        on_click="ignore",
        width="stretch",
    )

    st.subheader("Services")
    if tables.workloads.empty:
        st.info("There are no services. Press *Add a service* to choose a model that is profiled, or paste a table.")
    edit_table(session, "workloads")
    show_marks(tables.workloads, marks_in(findings, "workloads", tables.workloads), "cannot be used")
    add, paste, download, _ = st.columns([2, 2, 2, 3])
    if add.button("Add a service", key="add_service", width="stretch"):
        add_service(session)
    if paste.button("Paste services", key="paste_workloads", width="stretch", help="from a spreadsheet or a CSV file"):
        paste_table(session, "workloads")
    download.download_button(
        "Services as CSV",
        csv_text(tables.workloads),
        f"{tables.name}.services.csv",
        "text/csv",
        key="workloads_csv",
        on_click="ignore",
        width="stretch",
    )

    edit_settings(session)
    problem = session.problem
    st.download_button(
        "Download problem",
        lambda: dump_problem(problem) if problem else "",
        f"{tables.name}.yaml",
        disabled=problem is None,
        key="download_problem",
        on_click="ignore",
    )
