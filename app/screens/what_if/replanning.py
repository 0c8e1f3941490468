"""Plans the changed problem as soon as a slider moves, from the last plan's prices, and gives up what it overtakes."""

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.what_if_calls import live_limit_s
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.widgets.job_progress import begin, give_up, value_of
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.what_if.changes import applied

from .state import ASKED, PURPOSE, Asked

WAIT_S = 1.5
"""So long a moved slider waits for its plan, which then comes in the same drawing."""


def replanned(session: Session, base: Answer, changes: WhatIf) -> Answer | None:
    """
    Returns the plan for the changes, else the last one there is; None: there is none yet.

    Raises
    ------
    InputError
        If the changes make a figure that no problem may have.
    """
    asked: Asked | None = ASKED.of(session)
    if asked is None or asked.base is not base.problem or asked.changes != changes:
        asked = Asked(base.problem, changes, applied(base.problem, changes))
        is_shown = PURPOSE in session.open_jobs
        give_up(session, PURPOSE)
        if asked.problem is not base.problem and not _begin(session, base, asked):
            return None
        ASKED.keep(session, asked)
        if is_shown or PURPOSE in session.open_jobs:
            st.rerun()  # the sidebar, drawn before, shows this one from now on, and the earlier one no more
    if asked.problem is base.problem:
        return base
    found = session.results.get(PURPOSE)
    return None if found is None or found.value is None else Answer(found.problem, found.value)


def is_current(session: Session, shown: Answer) -> bool:
    """Tells whether a plan answers the changes that were asked last."""
    asked: Asked | None = ASKED.of(session)
    return asked is not None and shown.problem is asked.problem


def _begin(session: Session, base: Answer, asked: Asked) -> bool:
    start = value_of(session, PURPOSE) or base.plan
    try:
        job = shared_jobs().submit_solve(
            session.user,
            asked.problem,
            profiles=known_profiles(),
            time_limit_s=live_limit_s(asked.problem),
            start=start,
        )
    except TooManyJobsError as error:
        st.error(literal(str(error)))
        return False
    begin(session, PURPOSE, job, asked.problem, wait_s=WAIT_S)
    return True
