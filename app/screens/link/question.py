"""Asks somebody who has work of their own whether a link shall take its place, with both beside each other."""

import streamlit as st

from sliceplan.app.session.deep_link import WHAT_IF
from sliceplan.app.session.link_offer import OFFERED, open_offered, stay
from sliceplan.app.session.session import Session
from sliceplan.app.tables.outline import fleet_in_words, services_in_words
from sliceplan.solver.what_if.changes import description
from sliceplan.solver.wording.what_is_proven import summary_and_what_of

from ...widgets.texts import listed, literal


def asks_about_link(session: Session) -> bool:
    """Draws the question while there is one; returns whether there is."""
    linked = OFFERED.of(session)
    if linked is None:
        return False
    st.title("Open this link?")
    st.markdown("It would replace what you are working on. Nothing is lost: *Undo* brings it back.")
    opened, replaced = st.columns(2)
    with opened.container(border=True, height="stretch"):
        _outline("The link opens", linked)
        st.button("Open the link", key="link_open", type="primary", on_click=open_offered, args=(session,))
    with replaced.container(border=True, height="stretch"):
        _outline("It replaces", session)
        st.button("Keep my work", key="link_stay", on_click=stay, args=(session,))
    return True


def _outline(title: str, session: Session) -> None:
    st.header(title)
    tables, key, answer = session.tables, session.saved_as, session.answer
    lines = [services_in_words(tables.workloads), f"GPUs: {fleet_in_words(tables.fleet)}"]
    changes = WHAT_IF.of(session)
    if changes is not None and not changes.is_empty:
        lines.append(f"what if: {description(changes)}")
    lines.append("no plan yet" if answer is None else f"its plan: {summary_and_what_of(answer.plan, answer.plan.gap)}")
    lines.append("not saved" if key is None else f"began as version {key.number} of {key.document}")
    st.markdown(f"**{literal(tables.name)}**\n\n{listed(lines)}")
