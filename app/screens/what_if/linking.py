"""The address that reopens a what-if, on this server or another one."""

from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.links import Link, TooLongError, query_of
from sliceplan.app.session.session import Session
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf

WANTED = Kept[bool]("what_if.link_wanted")
LINKED = Kept["tuple[Problem, WhatIf, str, str]"]("what_if.linked")

SAVE_FIRST = "This problem is too large to travel in an address. Save it, and the link names the saved version."


def want_link(session: Session) -> None:
    """Notes that a link is to be shown, for the sliders as the next drawing finds them: they may move meanwhile."""
    WANTED.keep(session, True)


def show_link(session: Session, problem: Problem, changes: WhatIf) -> None:
    """Shows the link that was asked for, until something else is asked; it takes a moment for a large problem."""
    if WANTED.taken(session):
        try:
            address, said = _address(_query(session, problem, changes)), ""
        except SliceplanError as error:
            address, said = "", str(error)
        LINKED.keep(session, (problem, changes, address, said))
    linked = LINKED.of(session)
    if linked is None or linked[0] is not problem or linked[1] != changes:
        return
    _, _, address, said = linked
    if said:
        st.info(literal(said))
        return
    with st.container(key="link_to_copy"):  # links_are_copied.js looks for this key
        st.html('<p class="copied" role="status"></p>')
        st.caption("Whoever opens this address sees this what-if. It holds the problem and the changes, or names them.")
        st.code(address, language=None, wrap_lines=True, height=110)


def _query(session: Session, problem: Problem, changes: WhatIf) -> dict[str, str]:
    try:
        return query_of(Link(problem, changes))
    except TooLongError as error:
        if session.saved_as is None:
            raise TooLongError(SAVE_FIRST) from error
        if problem_at(shared_store(), session.saved_as) != problem:
            raise TooLongError(f"{SAVE_FIRST} It is no longer {session.saved_as}.") from error
        return query_of(Link(session.saved_as, changes))


def _address(query: dict[str, str]) -> str:
    here = urlsplit(st.context.url or "http://localhost:8501/what-if")
    return urlunsplit((here.scheme, here.netloc, here.path, urlencode(query), ""))
