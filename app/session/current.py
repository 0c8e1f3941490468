"""The session of the browser that a script run belongs to."""

import streamlit as st

from sliceplan.solver.formats.problem_files import example_problems

from .kept import KEPT
from .session import Session, tables_of

WORK = "work"
"""Names the session in the page's address."""


def current_session(user: str) -> Session:
    """Returns the session; after a reload of the browser, as it was before. Nobody gets somebody else's."""
    state = st.session_state
    if "session" not in state or state.session.user != user:
        kept = KEPT.copy_of(st.query_params.get(WORK, ""), user)
        state.session = kept or new_session(user)
        state.session.editor += 1
        state.token = KEPT.keep(state.session)
    if st.query_params.get(WORK) != state.token:
        st.query_params[WORK] = state.token
    session: Session = state.session
    return session


def new_session(user: str) -> Session:
    """Returns a session that begins with the demo, as an empty page teaches nobody."""
    demo = next(iter(example_problems().values()))
    return Session(user, tables_of(demo), demo)
