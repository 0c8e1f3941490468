"""Saving what the session works on: the next version, or under another name."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.store.conflicts import Conflict, ConflictError
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.shared import shared_store
from sliceplan.solver.model.problem import Problem

from ...widgets.attempts import attempt

CONFLICT = Kept[Conflict]("saved.conflict")
"""Where the session keeps a conflict until something is decided."""


def save_version(session: Session, problem: Problem, parent: VersionKey, note: str) -> None:
    """Saves the next version and notes that the tables are it; after a conflict, notes that there is one to decide."""
    try:
        version = writing.save_problem(shared_store(), problem, parent=parent, by=current_identity(), note=note)
    except ConflictError as error:
        session.saved_as = parent
        CONFLICT.keep(session, error.conflict)
        return
    session.saved_as = version.key
    CONFLICT.forget(session)


def save_as(session: Session, problem: Problem, name: str, note: str) -> None:
    """Saves under a new name and notes that the tables are that."""
    version = writing.save_new_problem(
        shared_store(), problem, name=name, by=current_identity(), note=note, copied=session.saved_as
    )
    session.saved_as = version.key
    CONFLICT.forget(session)


def show_save_as(session: Session, problem: Problem | None, suffix: str) -> None:
    """Draws the fields for another name; `suffix` makes their keys unique."""
    name = st.text_input("Name", "" if session.saved_as else session.tables.name, key=f"save_as_name_{suffix}")
    note = st.text_input("What it is for", key=f"save_as_note_{suffix}")
    if st.button("Save under this name", type="primary", key=f"save_under_{suffix}") and problem is not None:
        if not name.strip():
            st.error("Enter a name first.")
            return
        attempt(partial(save_as, session, problem, name.strip(), note))
