"""History: what is saved, by whom, when and why; what differs; and how to have it back."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.session.session import Session
from sliceplan.app.store.problems import problems
from sliceplan.app.store.records import Document
from sliceplan.app.store.shared import shared_store
from sliceplan.app.tables.history import problems_table
from sliceplan.app.widgets.attempts import attempt, plain
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.errors import SliceplanError

from . import differences, plans, sweeps, versions
from .choosing import COLUMNS, NOTES, choose, choose_part, kept_toggle, said, say
from .first import offer_first

PARTS = {
    "Versions": versions.show,
    "Plans": plans.show,
    "Sweeps": sweeps.show,
    "Differences": differences.show,
}


def show(session: Session) -> None:
    """Draws the screen."""
    st.caption(
        "What was saved, by whom, when and why. Each save of a problem (services, fleet, settings) is a version; any "
        "can be compared with another, opened or restored."
    )
    if text := said(session):
        st.success(literal(text))
    try:
        _show_saved(session)
    except SliceplanError as error:
        st.error(f"What is saved cannot be shown; the rest of the page works without. {literal(plain(error))}")


def _show_saved(session: Session) -> None:
    store = shared_store()
    choosing, showing = st.columns([2, 1], vertical_alignment="bottom")
    with showing:
        archived = kept_toggle(session, "history.archived", "Show archived")
    found = problems(store, archived=archived)
    if not found:
        if archived:
            st.info("Nothing was archived.")
        else:
            offer_first(session)
        return
    if len(found) > 1:
        show_table(problems_table(found), "saved_problems", columns=COLUMNS, wrapped=NOTES, key="saved_problems")
    by_name = {one.name: one for one in found}
    start = session.saved_as.document if session.saved_as else None
    with choosing:
        name = choose(session, "history.problem", "Problem", list(by_name), start=start)
    PARTS[choose_part(session, "history.part", list(PARTS))](session, name)
    _offer_archive(session, by_name[name])


def _offer_archive(session: Session, document: Document) -> None:
    may_save = current_identity().may_save
    if document.archived is not None:
        st.caption(f"{literal(document.archived.by)} archived it at {document.archived.at:%Y-%m-%d %H:%M} UTC.")
        if st.button("Restore from the archive", disabled=not may_save, key="unarchive_problem"):
            attempt(partial(_unarchive, session, document.name))
    elif st.button(
        "Archive this problem",
        disabled=not may_save,
        key="archive_problem",
        help="Hides it with its versions, plans and sweeps; nothing is deleted",
    ):
        attempt(partial(_archive, session, document.name))


def _archive(session: Session, name: str) -> None:
    writing.archive_problem(shared_store(), name, by=current_identity())
    say(session, f"{name} is archived.")


def _unarchive(session: Session, name: str) -> None:
    writing.unarchive_problem(shared_store(), name, by=current_identity())
    say(session, f"{name} is in use again.")
