"""The session of the browser that a script run belongs to."""

import secrets
from contextlib import suppress

import streamlit as st

from sliceplan.app.jobs.demo_plan import demo, demo_plan
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.solver.model.errors import SliceplanError

from .deep_link import opened_session
from .drafts import drafts
from .kept import Kept
from .link_offer import OFFERED, is_asked
from .links import FIELDS
from .session import OpenJob, Result, Session, tables_of
from .snapshots import KEPT

WORK = "work"
"""Names the session in the page's address."""

BROKEN_LINK = Kept[str]("link.broken")
"""Where a session keeps what was wrong with the link that it was to open."""

NOT_KEPT = Kept[bool]("work.not_kept")
"""Where a session keeps that the address names one that this server does not have."""


RESTORED = Kept[bool]("work.restored")
"""Where a session keeps that it is from before a restart of the server."""


def current_session(user: str) -> Session:
    """Returns the session; after a reload of the browser, as it was before. Nobody gets somebody else's."""
    state = st.session_state
    if "session" not in state or state.session.user != user:
        named = st.query_params.get(WORK, "")
        linked, kept = _opened(user), KEPT.copy_of(named, user)
        if named and linked is None and kept is None and (kept := _of_draft(named, user)) is not None:
            RESTORED.keep(kept, True)
            kept.editor = secrets.randbelow(1 << 30)  # no widget is one that the browser remembers
        work = kept or KEPT.work_of(user)
        if linked is not None and work is not None and not BROKEN_LINK.is_there(linked) and is_asked(work, linked):
            OFFERED.keep(work, linked)
            linked, kept = None, work
        state.session = linked or kept or opening_session(user)
        if named and linked is None and kept is None:
            NOT_KEPT.keep(state.session, True)
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


def _of_draft(token: str, user: str) -> Session | None:
    """Returns the session that was kept beyond a restart of the server."""
    kept = drafts()
    return None if kept is None else kept.session_of(token, user)


def note_draft(session: Session) -> None:
    """Keeps what somebody changed or planned beyond a restart of the server, if this one keeps drafts."""
    kept = drafts()
    answer = session.answer
    is_own = bool(session.past) or RESTORED.is_there(session) or (answer is not None and answer.plan is not demo_plan())
    if not is_own or "token" not in st.session_state:
        return
    KEPT.note_work(st.session_state.token, session.user)
    if kept is not None:
        kept.note(st.session_state.token, session)


def new_session(user: str) -> Session:
    """Returns a session that begins with the demo, as an empty page teaches nobody."""
    return Session(user, tables_of(demo()), demo())


def opening_session(user: str) -> Session:
    """Returns a new session with the demo's plan, or with its solve under way while the server has not got it."""
    session, plan = new_session(user), demo_plan()
    if plan is not None:
        session.results["solve"] = Result(demo(), plan)
        return session
    with suppress(TooManyJobsError):
        job = shared_jobs().submit_solve(user, demo(), profiles=known_profiles())
        session.open_jobs["solve"] = OpenJob(job, demo())
    return session
