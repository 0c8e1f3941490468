"""The first thing to keep: one press saves the problem that the plan at hand answers, and the plan beside it."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.saved_plan import SAVED_PLAN
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.store.shared import shared_store
from sliceplan.app.widgets.attempts import attempt
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.wording.what_is_proven import summary_and_what_of

from .choosing import say

NOTHING = (
    "Nothing is saved yet. Each saved problem appears here with its versions (who saved them, when and why), its plans "
    "and its sweeps. You can compare any two, restore one, or set a plan as what runs now."
)
NOTE = "kept from the screen History"


def offer_first(session: Session) -> None:
    """Says what will be here, and offers to keep the plan at hand, or to go where problems are saved."""
    st.info(NOTHING)
    answer = session.answer
    with st.container(horizontal=True):
        if answer is not None and answer.plan.gpus:
            may_save = current_identity().may_save
            if st.button("Keep the present plan", key="keep_plan", type="primary", disabled=not may_save):
                attempt(partial(keep, session, answer))
        st.button("Go to Services and fleet", key="to_save", on_click=lead_to, args=(session, "workloads"))
    if answer is not None and answer.plan.gpus:
        said = summary_and_what_of(answer.plan, answer.plan.gap)
        st.caption(
            f"It is kept as **{literal(answer.problem.name)}**: {literal(said)}. "
            "*Services and fleet* saves under another name, and with a note."
        )


def keep(session: Session, answer: Answer) -> None:
    """Saves a problem under its own name and its plan, and notes that the tables began as that."""
    store, by = shared_store(), current_identity()
    version = writing.save_new_problem(store, answer.problem, name=answer.problem.name, by=by, note=NOTE)
    writing.save_plan(store, answer.plan, problem=version.key, by=by, note=NOTE)
    session.saved_as = version.key
    SAVED_PLAN.keep(session, (version.key, answer.plan))
    say(session, f"{version.key} is saved, with its plan.")
