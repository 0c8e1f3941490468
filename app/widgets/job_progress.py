"""Work under way: begun here, shown with progress and cancel on every screen, its result put into the session."""

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from sliceplan.app.jobs.cost_of_holding import PURPOSE as COST_OF_HOLDING
from sliceplan.app.jobs.cost_of_holding import limit_s as cost_of_holding_s
from sliceplan.app.jobs.defragmenting import ALL_S as DEFRAGMENT_S
from sliceplan.app.jobs.estimating import TRIAL_S as ESTIMATE_S
from sliceplan.app.jobs.job import JobStatus, State
from sliceplan.app.jobs.jobs import UnknownJobError, shared_jobs
from sliceplan.app.jobs.leaving_out import TRIAL_S
from sliceplan.app.jobs.remedies import ALL_S
from sliceplan.app.jobs.room_to_grow import MOST_S
from sliceplan.app.jobs.routers import MOST_PLANNED as MOST_ROUTERS
from sliceplan.app.jobs.searching_on import limit_s as search_on_s
from sliceplan.app.jobs.what_if_calls import SENSITIVITIES_S, live_limit_s
from sliceplan.app.session.leading import draw_again, is_left
from sliceplan.app.session.session import OpenJob, Result, Session
from sliceplan.solver.model.problem import Problem

from .dialogs import is_open
from .improving import is_better_known, nothing_is_shown, words_of
from .texts import literal

QUICK_S = 0.6
"""So long a click waits for its result, which then comes at once, without a word of progress."""

POLL_S = 0.5

WITHOUT_LIMIT = frozenset({"transition", "exchange", "report_steps", "on_cores"})
"""Purposes of which nothing is known but the time that went by: a way is an answer only as a whole."""


def begin(
    session: Session,
    purpose: str,
    job_id: str,
    problem: Problem,
    *,
    wait_s: float = QUICK_S,
    most_s: float | None = None,
) -> None:
    """
    Follows a job; an earlier one of the same purpose is given up. Waits a moment, as most end within it.

    Parameters
    ----------
    most_s
        Seconds that it may take, where `longest_s` cannot know it.
    """
    give_up(session, purpose)
    session.open_jobs[purpose] = OpenJob(job_id, problem, most_s)
    shared_jobs().result(job_id, wait_s)
    collect(session)


def give_up(session: Session, purpose: str) -> None:
    """Ends a job and forgets it, with its result."""
    old = session.open_jobs.pop(purpose, None)
    if old is not None:
        _cancel(old)


def collect(session: Session) -> bool:
    """Puts what has ended into the session's results; tells whether anything has."""
    jobs, any_ended = shared_jobs(), False
    for purpose, job in list(session.open_jobs.items()):
        try:
            status = jobs.status(job.id)
            if not status.has_ended:
                continue
            is_cancelled = status.state is State.CANCELLED
            result = Result(job.problem, jobs.result(job.id), status.error, is_cancelled, status.improved)
        except UnknownJobError as error:
            result = Result(job.problem, None, str(error))
        # A failure leaves the last good result where it is, and its reason beside it.
        kept = session.results.get(purpose)
        if result.value is None and kept is not None and kept.value is not None:
            result = replace(kept, error=result.error, was_cancelled=result.was_cancelled)
        if purpose == "solve" and result.value is not None:
            session.before = session.answer
        session.results[purpose] = result
        del session.open_jobs[purpose]
        any_ended = True
    return any_ended


def show_under_way(session: Session) -> None:
    """Shows the jobs that have not ended, each with its best so far and a way to end it with that."""
    collect(session)
    nothing_is_shown(session)
    if session.open_jobs:
        _watch(session, _Drawn())


@dataclass
class _Drawn:
    """What there is of the jobs on the page."""

    with_page: bool = True
    """Whether it is being drawn with all of the page, which it is once."""
    is_late: bool = False
    """Whether something ended after a part of the page had been drawn."""


@st.fragment(run_every=POLL_S)
def _watch(session: Session, drawn: _Drawn) -> None:
    drawn.is_late |= collect(session)
    if drawn.with_page:
        drawn.with_page = False  # drawn anew at once, the page would lose a press that it is being drawn for
    # What ends while a dialog is open is shown when that is closed.
    elif is_left(session) or ((drawn.is_late or is_better_known(session)) and not is_open(session)):
        draw_again(session)
    jobs = shared_jobs()
    for purpose, job in session.open_jobs.items():
        status = jobs.status(job.id)
        done, of = parts_of(status)
        st.progress(done / max(of, 1), text=_words(status, purpose, job))
        if status.so_far is not None:
            st.caption(f"Best so far: {words_of(status.so_far)}.")
        offer_stop(session, purpose, f"cancel_{purpose}")


def offer_stop(session: Session, purpose: str, key: str) -> None:
    """Draws the button that ends a job with its best so far."""
    job = session.open_jobs.get(purpose)
    if job is not None:
        st.button("Stop and keep the best so far", key=key, on_click=_cancel, args=(job,), width="stretch")


def show_failure(result: Result | None) -> None:
    """Says why the last job of a purpose has no result, or that it was ended early."""
    if result is None:
        return
    if result.why_not:
        st.error(literal(result.why_not))
    elif result.was_cancelled:
        st.info("Stopped early: this is the best that was found until then.")


def value_of(session: Session, purpose: str) -> Any:
    """Returns the last result's value; None: there is none."""
    found = session.results.get(purpose)
    return None if found is None else found.value


def _words(status: JobStatus, purpose: str, job: OpenJob) -> str:
    silent = "waits for its turn" if status.state is State.WAITING else "begins"
    doing = silent if status.progress is None else status.progress.text
    no_limit = "; no time limit" if purpose in WITHOUT_LIMIT and status.state is State.RUNNING else ""
    left = time_left(status, job.most_s or longest_s(purpose, job.problem)) or no_limit
    # Who searches is in the title already.
    doing = doing.removeprefix(f"{status.title.rpartition(' by ')[2]}: ")
    return f"{status.title}: {doing} ({status.seconds:.0f} s{left})"


def longest_s(purpose: str, problem: Problem) -> float | None:
    """Returns the seconds that a job of a purpose may take by its own limits; None: it has none."""
    limit_s = problem.settings.time_limit_s
    if purpose in ("solve", "make_it_hold", "replan"):
        return limit_s
    if purpose == "what_if":
        return live_limit_s(problem)
    if purpose == "sensitivities":
        return SENSITIVITIES_S
    if purpose == "search_on":
        return search_on_s(problem)
    if purpose == COST_OF_HOLDING:
        return cost_of_holding_s(problem)
    if purpose == "routers":
        return limit_s * MOST_ROUTERS
    if purpose == "defragment":
        return DEFRAGMENT_S
    if purpose in ("room_to_grow", "most_carried"):
        return min(MOST_S, limit_s)
    if purpose == "one_gpu_less":  # of each GPU type: whom to leave out, and the plan without them
        return 2 * min(TRIAL_S, limit_s) * len(problem.fleet)
    if purpose == "estimates_for_what_is_left_out":
        return min(ESTIMATE_S, limit_s) * len(problem.fleet)
    # The last trial may begin as the time ends.
    return ALL_S + min(TRIAL_S, limit_s) if purpose == "what_would_help" else None


def time_left(status: JobStatus, most_s: float | None) -> str:
    """Returns how much longer a job takes, by its parts that are done or by its limit; empty: nothing is known."""
    done, of = parts_of(status)
    if 0 < done < of:
        return f"; about {status.seconds * (of - done) / done:.0f} s more"
    if most_s is not None and status.state is State.RUNNING and status.seconds < most_s:
        return f"; at most {most_s - status.seconds:.0f} s more"
    return ""


def parts_of(status: JobStatus) -> tuple[int, int]:
    """Returns the parts of a job that are done, and all: its own, or those of the search that it waits for."""
    said = status.progress
    return (said.done, said.of) if said is not None and said.of else (status.done, status.of)


def _cancel(job: OpenJob) -> None:
    try:
        shared_jobs().cancel(job.id)
    except UnknownJobError:
        return
