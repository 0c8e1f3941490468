"""Services and fleet: the problem in tables, with what is wrong beside them; examples and files behind a fold."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from sliceplan.app.profiles.estimating import asked_in, nowhere
from sliceplan.app.screens.workloads.save_bar import saved_bar
from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.problem_state import findings_of
from sliceplan.app.session.session import Session
from sliceplan.app.tables.labels import in_words
from sliceplan.app.tables.matching import matching
from sliceplan.app.tables.names import IN_FILES
from sliceplan.app.tables.outline import fleet_in_words, promise_in_outline
from sliceplan.app.tables.pasted import csv_text
from sliceplan.app.tables.pasted_header import Table
from sliceplan.app.tables.problem import MARK, elsewhere, marks_in
from sliceplan.app.widgets.actions import offer_solve_beside, offer_solve_on_a_phone
from sliceplan.app.widgets.estimating import offer_estimates
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.tables import show_cards
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.price_book import DEFAULT_BOOK

from .beginning import choose_beginning
from .changing import change_row
from .choosing import add_gpus, add_service
from .editors import ask_for_filter, choose_columns, columns_of, edit_prices, edit_table, head_with_undo, looked_for
from .marks import show_marks
from .pasting import paste_table
from .settings import edit_settings


def show(session: Session) -> None:
    """Draws the screen: the services, which one comes for, and the rest behind folds that say what is in it."""
    saved_bar(session)
    for text in elsewhere(findings_of(session)):
        st.error(literal(in_words(text)))
    head_with_undo(session, "Services")
    _say_what_is_planned(session)
    _show_table(
        session,
        "workloads",
        "Services",
        "services",
        "a service",
        ("Add a service", add_service),
        when_empty="There are no services. Press *Add a service* to choose a model that is profiled, or paste a table.",
        note="One row per service. Name, model, requests per second and latency limit (SLO) are required.",
    )
    offer_estimates(session, nowhere(asked_in(session.tables.fleet, session.tables.workloads), profiles_of(session)))
    _show_fleet(session)
    edit_settings(session)
    choose_beginning(session)
    offer_solve_on_a_phone(session)


def _say_what_is_planned(session: Session) -> None:
    """Says on which fleet the services are planned and what is promised of the SLO, with the press that plans them."""
    tables = session.tables
    words, solve = st.columns([5, 2], vertical_alignment="center")
    words.markdown(
        f"On {literal(fleet_in_words(tables.fleet))}, at prices of {literal(tables.prices or DEFAULT_BOOK)}. "
        f"Promised: {literal(promise_in_outline(tables.settings))}."
    )
    with solve:
        offer_solve_beside(session)


def _show_fleet(session: Session) -> None:
    """Draws the fleet and its prices, folded; the fold is open at an empty fleet, and marked at a wrong one."""
    tables = session.tables
    is_wrong = any(marks_in(findings_of(session), "fleet", tables.fleet))
    title = f"Fleet: {fleet_in_words(tables.fleet)}; prices of {tables.prices or DEFAULT_BOOK}"
    with st.expander(
        literal(title), expanded=tables.fleet.empty, key="fold_fleet", icon=":material/error:" if is_wrong else None
    ):
        _show_table(
            session,
            "fleet",
            "Fleet",
            "GPUs",
            "GPUs",
            ("Add GPUs", add_gpus),
            when_empty="The fleet has no GPUs. Press *Add GPUs* to choose from the catalogue, or paste a table.",
            note="Without a count, as many as needed; without a price, that of the price book below.",
        )
        edit_prices(session)


def _show_table(
    session: Session,
    name: Table,
    title: str,
    things: str,
    one: str,
    add: tuple[str, Callable[[Session], None]],
    *,
    when_empty: str,
    note: str,
) -> None:
    """Draws one of the tables, what is wrong in it, and the ways to fill it."""
    table: pd.DataFrame = getattr(session.tables, name)
    if table.empty:
        st.info(when_empty)
    else:
        st.caption(note)
    if name == "workloads":
        ask_for_filter(session)
        choose_columns(session)
    with st.container(key=f"grid_{name}"):
        edit_table(session, name)
        if len(table) > 1:
            st.caption("To fill down, drag a cell's corner, or select the cells below it too and press Ctrl+D.")
    marks = marks_in(findings_of(session), name, table)
    if not table.empty:
        said = pd.Series([in_words(mark, name) or None for mark in marks], dtype="object")
        marked = table.assign(**{MARK: said}) if any(marks) else table
        cards = marked.iloc[matching(table, looked_for(session))] if name == "workloads" else marked
        with st.container(key=f"cards_{name}"):
            show_cards(cards.drop(columns=IN_FILES, errors="ignore"), name, columns_of(session, name), wrong=MARK)
    show_marks(table, marks, "cannot be used", name, name)
    adding, pasting, changing, download = st.container(key=f"beside_{name}").columns(4)
    label, ask = add
    if adding.button(label, key=f"add_{name}", width="stretch"):
        ask(session)
    if pasting.button(f"Paste {things}", key=f"paste_{name}", width="stretch", help="from a spreadsheet or a CSV file"):
        paste_table(session, name)
    if changing.button(f"Change {one}", key=f"change_{name}", width="stretch", disabled=table.empty):
        change_row(session, name)
    what = f"{title.lower()}.csv"
    offer_file(f"{title} as CSV", csv_text(table), session.tables.name, what, key=f"{name}_csv", place=download)
