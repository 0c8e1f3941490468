"""Who is there: the first thing that the page asks, and the last line of its sidebar."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from sliceplan.app.access.current import can_log_in, current_identity, has_login
from sliceplan.app.access.guarding import ADMITTED
from sliceplan.app.access.identity import Identity, LoginError
from sliceplan.solver.model.errors import InputError

from .texts import literal


def admitted() -> Identity | None:
    """Returns who uses the page; None: nobody who may, and the page says so and what they can do."""
    context = get_script_run_ctx()
    session = "" if context is None else context.session_id
    try:
        identity = current_identity()
        ADMITTED.add(session)
        return identity
    except LoginError as error:
        ADMITTED.discard(session)
        st.title("sliceplan")
        st.warning(literal(str(error)))
    except InputError as error:
        st.title("sliceplan")
        st.error(f"The access file can no longer be used; whoever runs this page can fix it. {literal(str(error))}")
        return None
    if can_log_in():
        if st.user.is_logged_in:
            st.button("Log out", on_click=st.logout, key="log_out")
        else:
            st.button("Log in", on_click=st.login, key="log_in", type="primary")
    return None


def show_identity(identity: Identity) -> None:
    """Says who one is here, and offers to log out; in the sidebar. On one's own machine nobody asked."""
    if not has_login():
        return
    st.caption(f"{literal(identity.user)} ({identity.role})")
    if can_log_in():
        st.button("Log out", on_click=st.logout, key="log_out", width="stretch")
