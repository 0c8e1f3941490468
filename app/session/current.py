"""The session of the browser that a script run belongs to."""

import streamlit as st

from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.errors import SliceplanError

from .deep_link import opened_session
from .kept import Kept
from .links import FIELDS
from .session import Session, tables_of
from .snapshots import KEPT

WORK = "work"
"""Names the session in the page's address."""

BROKEN_LINK = Kept[str]("link.broken")
"""Where a session keeps what was wrong with the link that it was to open."""


def current_session(user: str) -> Session:
    """Returns the session; after a reload of the browser, as it was before. Nobody gets somebody else's."""
    state = st.session_state
    if "session" not in state or state.session.user != user:
        kept = KEPT.copy_of(st.query_params.get(WORK, ""), user)
        state.session = _opened(user) or kept or new_session(user)
        state.session.editor += 1
        state.token = KEPT.keep(state.session)
    if st.query_params.get(WORK) != state.token:
        st.query_params[WORK] = state.token
    for field in FIELDS:
        if field in st.query_params:  # what the link stated is the session's from now on
            del st.query_params[field]
    session: Session = state.session
    return session


def _opened(user: str) -> Session | None:
    """Returns what a link opens; a broken one opens the usual page with what is wrong."""
    try:
        return opened_session(st.query_params, user)
    except SliceplanError as error:
        session = new_session(user)
        BROKEN_LINK.keep(session, str(error))
        return session


def new_session(user: str) -> Session:
    """Returns a session that begins with the demo, as an empty page teaches nobody."""
    demo = next(iter(example_problems().values()))
    return Session(user, tables_of(demo), demo)
