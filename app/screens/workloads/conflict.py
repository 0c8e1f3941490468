"""Somebody saved in between: what they changed, what one changed oneself, and the ways on, none of which loses work."""

from functools import partial

import streamlit as st

from sliceplan.app.access.current import current_identity
from sliceplan.app.session.session import Session, open_problem
from sliceplan.app.store.conflicts import Conflict, conflict_between
from sliceplan.app.tables.history import CHANGES_WRAPPED, changes_table, contests_table
from sliceplan.app.widgets.tables import show_table
from sliceplan.solver.differences.merging import merged

from ...widgets.attempts import attempt
from ...widgets.texts import literal
from .saving import CONFLICT, save_version, show_save_as


def show_conflict(session: Session) -> None:
    """Draws the conflict that waits for a decision, if there is one."""
    kept: Conflict | None = CONFLICT.of(session)
    if kept is None:
        return
    if session.saved_as != kept.base.key:
        # Another problem was opened since.
        CONFLICT.forget(session)
        return
    conflict = _with_tables(session, kept)
    theirs, author = conflict.theirs, literal(conflict.theirs.author)
    with st.container(border=True):
        said = f" and says: “{literal(theirs.note)}”" if theirs.note else ""
        st.warning(
            f"**{author} saved version {theirs.key.number}** at {theirs.saved_at:%Y-%m-%d %H:%M} UTC{said}, after "
            f"version {conflict.base.key.number}, which you edited. Yours is not saved yet; nothing is lost."
        )
        for title, key, changes in (
            (f"Changed by {author}", "their_changes", conflict.their_changes),
            ("Changed by you", "my_changes", conflict.my_changes),
        ):
            st.markdown(f"**{title}**")
            show_table(changes_table(changes), key, wrapped=CHANGES_WRAPPED, titles=2, key=key)
        keep_mine = _choose_sides(conflict)
        _offer_ways(session, conflict, keep_mine)


def _with_tables(session: Session, kept: Conflict) -> Conflict:
    """Returns the conflict with what the tables state by now as one's own side."""
    if session.problem is None or session.problem == kept.mine:
        return kept
    return conflict_between(kept.base, kept.theirs, kept.base_problem, kept.their_problem, session.problem)


def _choose_sides(conflict: Conflict) -> bool:
    """Returns whether one's own side is to stay where both changed the same; False where nothing is contested."""
    if not conflict.contests:
        st.caption("Nobody changed what the other did, so merging keeps both sides' changes.")
        return False
    st.markdown("**Changed by both, and differently**")
    show_table(contests_table(conflict.contests), "contests", wrapped=CHANGES_WRAPPED, key="contests")
    sides = ("theirs", "mine")
    return st.radio("When merging, these places keep", sides, horizontal=True, key="contested") == "mine"


def _offer_ways(session: Session, conflict: Conflict, keep_mine: bool) -> None:
    merge, on_top, other, discard = st.columns(4)
    can_save = current_identity().may_save
    number, theirs = conflict.theirs.key.number, conflict.theirs
    if merge.button(
        "Merge and save",
        type="primary",
        disabled=not can_save,
        key="merge",
        width="stretch",
        help=f"Version {number} with all your changes that do not contradict it, as version {number + 1}",
    ):
        attempt(partial(_merge, session, conflict, keep_mine))
    if on_top.button(
        "Save mine on top",
        disabled=not can_save,
        key="save_on_top",
        width="stretch",
        help=f"Yours as it is becomes version {number + 1}; what they changed stays in version {number}",
    ):
        attempt(partial(save_version, session, conflict.mine, theirs.key, f"in place of version {number}"))
    with other.popover("Another name…", disabled=not can_save, width="stretch", key="conflict_as"):
        show_save_as(session, conflict.mine, "conflict")
    if discard.button(
        "Discard mine",
        key="discard_mine",
        width="stretch",
        help=f"Opens version {number}; undo brings yours back",
    ):
        open_problem(session, conflict.their_problem, theirs.key)
        CONFLICT.forget(session)
        st.rerun()


def _merge(session: Session, conflict: Conflict, keep_mine: bool) -> None:
    sides = (conflict.their_problem, conflict.mine) if keep_mine else (conflict.mine, conflict.their_problem)
    problem = merged(conflict.base_problem, *sides).problem
    open_problem(session, problem, conflict.theirs.key)
    note = f"merged with version {conflict.theirs.key.number} by {conflict.theirs.author}"
    save_version(session, problem, conflict.theirs.key, note)
