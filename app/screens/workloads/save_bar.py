"""The save bar: under which name and version the tables were opened, whether they changed since, and saving them."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.access.identity import Identity
from sliceplan.app.session.saved_plan import SAVED_PLAN
from sliceplan.app.session.session import Session
from sliceplan.app.store.problems import latest_version
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.shared import digest_at, is_saved_as, shared_store
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import dump_problem
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.plan import Plan

from ...widgets.attempts import attempt, plain
from ...widgets.files import offer_file
from ...widgets.texts import literal
from .conflict import show_conflict
from .saving import CONFLICT, save_version, show_save_as

ONLY_EDITORS = "You can look, solve and sweep here; saving, archiving and restoring need the role *editor*."


def saved_bar(session: Session) -> None:
    """Draws the bar, and a conflict that waits for a decision; a store that cannot be reached stops nothing else."""
    try:
        with st.container(border=True):
            _show_bar(session, current_identity())
        show_conflict(session)
    except SliceplanError as error:
        st.warning(f"Nothing can be saved now; the rest of the page still works. {literal(plain(error))}")
        _offer_what_is_there(session)


def _offer_what_is_there(session: Session) -> None:
    """Draws buttons that give as files what could not be saved."""
    with st.container(horizontal=True):
        if (problem := session.problem) is not None:
            contents = partial(dump_problem, problem)
            offer_file("Download the problem", contents, problem.name, "problem.yaml", key="unsaved_problem")
        if (answer := session.answer) is not None:
            name = answer.problem.name
            offer_file("Download the plan", partial(dump_plan, answer.plan), name, "plan.json", key="unsaved_plan")


def _show_bar(session: Session, identity: Identity) -> None:
    changed = _is_changed(session)
    words, buttons = st.columns([3, 2], vertical_alignment="center")
    with words:
        _say_where(session, changed)
    # Another key closes a popover once it has done its work.
    suffix = f"{session.editor}_{session.saved_as}{'_conflict' if CONFLICT.is_there(session) else ''}"
    row = buttons.container(horizontal=True, horizontal_alignment="right")
    hindered = None if identity.may_save else ONLY_EDITORS
    if hindered is None and session.problem is None:
        hindered = "Something in the tables is wrong; correct it to save."
    if session.saved_as is not None:
        why_not = hindered or (None if changed else "Nothing has changed since.")
        with row.popover("Save", disabled=why_not is not None, help=why_not, key=f"save_{suffix}"):
            note = st.text_input("What changed, and why", key=f"save_note_{suffix}")
            number = session.saved_as.number + 1
            if st.button(f"Save version {number}", type="primary", key="save_version") and session.problem:
                attempt(partial(save_version, session, session.problem, session.saved_as, note))
    with row.popover("Save as…", disabled=hindered is not None, help=hindered, key=f"save_as_{suffix}"):
        show_save_as(session, session.problem, suffix)
    with row:
        _offer_plan(session, identity, suffix)


def _is_changed(session: Session) -> bool:
    if session.saved_as is None or session.problem is None:
        return True
    return not is_saved_as(shared_store(), session.problem, session.saved_as)


def _say_where(session: Session, changed: bool) -> None:
    if session.saved_as is None:
        st.markdown("**Not saved.** *Save as…* keeps versions of the problem, with plans and what-if sweeps.")
        return
    st.markdown(f"**{literal(str(session.saved_as))}** — {'changed since' if changed else 'as it was saved'}")
    latest = latest_version(shared_store(), session.saved_as.document)
    if latest.key != session.saved_as and not CONFLICT.is_there(session):
        st.caption(
            f"{literal(latest.author)} saved version {latest.key.number} at {latest.saved_at:%Y-%m-%d %H:%M} UTC; if "
            "you save, you see both sides' changes first."
        )


def _offer_plan(session: Session, identity: Identity, suffix: str) -> None:
    answer, why_not = session.answer, None
    if answer is None:
        return
    if not identity.may_save:
        why_not = ONLY_EDITORS
    elif session.saved_as is None:
        why_not = "A plan is saved beside a saved problem; save the problem first."
    elif _is_saved(session, answer.plan):
        why_not = "This plan is saved; History has it."
    elif reference(answer.problem).sha256 != digest_at(shared_store(), session.saved_as):
        why_not = (
            f"The plan is for another problem than {literal(str(session.saved_as))}; save the problem and solve it."
        )
    with st.popover(
        "Save plan", disabled=why_not is not None, help=why_not and literal(why_not), key=f"save_plan_{suffix}"
    ):
        note = st.text_input("What the plan is for", key=f"plan_note_{suffix}")
        if st.button("Save this plan", type="primary", key="save_this_plan") and session.saved_as is not None:
            attempt(partial(_save_plan, session, session.saved_as, note))


def _save_plan(session: Session, version: VersionKey, note: str) -> None:
    answer = session.answer
    if answer is not None:
        writing.save_plan(shared_store(), answer.plan, problem=version, by=current_identity(), note=note)
        SAVED_PLAN.keep(session, (version, answer.plan))


def _is_saved(session: Session, plan: Plan) -> bool:
    version, saved = SAVED_PLAN.of(session, (None, None))
    return version == session.saved_as and saved is plan
