"""The best plan so far of the solve that is under way: shown with how good it is while the search improves it."""

import streamlit as st

from sliceplan.app.jobs.jobs import UnknownJobError, shared_jobs
from sliceplan.app.jobs.so_far import SoFar
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import OpenJob, Session
from sliceplan.solver.model.judged import Judged, judged
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.summary import so_far_in_words

from .texts import literal

PURPOSE = "solve"

SHOWN = Kept["SoFar | None"]("improving.shown")
"""Where the session keeps which plan so far the screen shows, None: there was none yet; absent: it shows no such."""


def plan_so_far(session: Session) -> tuple[Problem, SoFar] | None:
    """
    Returns the problem that is being solved and its best plan so far, for a screen to show; None: there is none.

    The screen that asks is drawn anew when there is a better one.
    """
    job = session.open_jobs.get(PURPOSE)
    found = None if job is None else _known(job)
    SHOWN.keep(session, found)
    return None if job is None or found is None else (job.problem, found)


def nothing_is_shown(session: Session) -> None:
    """Says, before a screen is drawn, that none shows a plan so far."""
    SHOWN.forget(session)


def is_better_known(session: Session) -> bool:
    """Tells whether there is a better plan than the one that the screen shows."""
    job = session.open_jobs.get(PURPOSE)
    if job is None or not SHOWN.is_there(session):
        return False
    found = _known(job)
    return found is not None and found is not SHOWN.of(session)


def words_of(found: SoFar) -> str:
    """Returns cost, bound, gap and seconds as Markdown."""
    return literal(so_far_in_words(found.judged, found.seconds))


def show_that_it_improves(found: SoFar) -> None:
    """Says over a plan that it is not the last word."""
    st.info(
        f"**So far; being improved.** This plan was found after {found.seconds:.1f} s. It has passed every check and "
        "could run as it is. Better ones appear here as they are found, until the search ends or you stop it."
    )


def improved_so_far(session: Session) -> tuple[tuple[float, Judged], ...]:
    """Returns the seconds and the quality of each plan that the solve under way found; empty: there is none."""
    job = session.open_jobs.get(PURPOSE)
    try:
        return () if job is None else shared_jobs().status(job.id).improved
    except UnknownJobError:
        return ()


def steps_to(session: Session, plan: Plan) -> tuple[tuple[float, Judged], ...]:
    """Returns the same of the search for the session's answer, its end last; empty: it found its plan in one step."""
    result = session.results.get(PURPOSE)
    if result is None or result.value is not plan:
        return ()
    found = [one for one in result.improved if one[0] < plan.runtime_s]
    return (*found, (plan.runtime_s, judged(plan))) if found else ()


def _known(job: OpenJob) -> SoFar | None:
    try:
        return shared_jobs().status(job.id).so_far
    except UnknownJobError:
        return None
