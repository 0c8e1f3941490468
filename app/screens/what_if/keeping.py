"""Saves a sweep beside the saved version of the problem that it varies."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.store.errors import StoreError
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.shared import digest_at, shared_store
from sliceplan.app.widgets.attempts import attempt
from sliceplan.solver.model.sweep_report import SweepReport

SAVED = Kept["tuple[VersionKey, SweepReport]"]("sweep.saved")


def offer_saving(session: Session, report: SweepReport) -> None:
    """Draws the button that saves a sweep, or says by its help why it cannot be saved."""
    why_not = _why_not(session, report)
    with st.popover("Save sweep", disabled=why_not is not None, help=why_not, key=f"save_sweep_{session.editor}"):
        note = st.text_input("What the sweep is for", key=f"sweep_note_{session.editor}")
        if st.button("Save this sweep", type="primary", key="save_this_sweep") and session.saved_as is not None:
            attempt(partial(_save, session, session.saved_as, report, note))


def _save(session: Session, version: VersionKey, report: SweepReport, note: str) -> None:
    writing.save_sweep(shared_store(), report, problem=version, by=current_identity(), note=note)
    SAVED.keep(session, (version, report))


def _why_not(session: Session, report: SweepReport) -> str | None:
    if not current_identity().may_save:
        return "Saving needs the role editor."
    if session.saved_as is None:
        return "A sweep is saved beside a saved problem; save the problem first, on Services and fleet."
    version, saved = SAVED.of(session, (None, None))
    if version == session.saved_as and saved is report:
        return "This sweep is saved; History has it."
    try:
        if digest_at(shared_store(), session.saved_as) != report.problem.sha256:
            return f"It varies another problem than {session.saved_as}; save that problem and sweep again."
    except StoreError as error:
        return str(error)
    return None
