"""The sweeps that are saved for a problem."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.session.session import Result, Session
from sliceplan.app.store.records import SavedSweep
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.store.sweeps import load_sweep, sweeps
from sliceplan.app.tables.history import sweeps_table
from sliceplan.app.widgets.attempts import attempt

from .choosing import COLUMNS, choose, kept_toggle, say

NOTHING = (
    "No sweep is saved for this problem. Run one on the page *What-if*, then press *Save sweep* below it: it stays "
    "here beside the version that it varies."
)


def show(session: Session, name: str) -> None:
    """Draws the tab."""
    archived = kept_toggle(session, "history.archived_sweeps", "Show archived sweeps")
    found = sweeps(shared_store(), name, archived=archived)
    if not found:
        st.info("No sweep of this problem was archived." if archived else NOTHING)
        return
    st.dataframe(sweeps_table(found), hide_index=True, width="stretch", column_config=COLUMNS, key="saved_sweeps")
    by_id = {one.id: one for one in found}
    number = choose(session, f"history.sweep.{name}", "Sweep", list(by_id), words=lambda one: sweep_words(by_id[one]))
    sweep = by_id[number]
    showing, archiving, _ = st.columns([1, 1, 2])
    if showing.button("Show it again", key="show_sweep", width="stretch", help="Makes it the sweep that What-if shows"):
        attempt(partial(_show_again, session, sweep))
    if archiving.button(
        "Take it out of the archive" if archived else "Archive this sweep",
        disabled=not current_identity().may_save,
        key="archive_sweep",
        width="stretch",
    ):
        attempt(partial(_unarchive if archived else _archive, session, sweep))


def sweep_words(sweep: SavedSweep) -> str:
    """Returns a sweep in a line."""
    note = f": {sweep.note}" if sweep.note else ""
    return f"{sweep.id} — of version {sweep.problem.number}, {', '.join(sweep.axes)}, {sweep.points} points{note}"


def _show_again(session: Session, sweep: SavedSweep) -> None:
    store = shared_store()
    session.results["sweep"] = Result(problem_at(store, sweep.problem), load_sweep(store, sweep.id))
    say(session, f"Sweep {sweep.id} of {sweep.problem} is what What-if shows now.")


def _archive(session: Session, sweep: SavedSweep) -> None:
    writing.archive_sweep(shared_store(), sweep.id, by=current_identity())
    say(session, f"Sweep {sweep.id} is archived.")


def _unarchive(session: Session, sweep: SavedSweep) -> None:
    writing.unarchive_sweep(shared_store(), sweep.id, by=current_identity())
    say(session, f"Sweep {sweep.id} is in use again.")
