"""How a transition is carried out: the commands, behind a fold, as the page runs none of them."""

from shlex import quote

import streamlit as st

from sliceplan.app.session.session import Session
from sliceplan.app.widgets.files import dated_name


def show_commands(session: Session) -> None:
    """Draws the fold, with the names of the files as they are downloaded."""
    name = session.tables.name
    today, following = dated_name(name, "running-plan.json"), dated_name(name, "next-plan.json")
    with st.expander("Commands: how to carry it out"):
        st.markdown(
            "This page cannot run anything on a node. On your machine, with the two plans downloaded above, write the "
            "plans to go through one by one:"
        )
        command = f"sliceplan transition {quote(today)} {quote(following)} --stages stages"
        st.code(command, language="sh", wrap_lines=True)
        st.markdown(
            "Sign each of them with a key that the page never sees: `sliceplan sign`. On each node, "
            "`sliceplan-agent plan` shows what it would do, and `sliceplan-agent apply` does it; it refuses a plan "
            "without a signature that it trusts."
        )
