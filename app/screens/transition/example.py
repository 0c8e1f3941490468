"""An example of a transition while nothing runs: begun by one press, called an example, and gone by another."""

import streamlit as st

from sliceplan.app.jobs.demo_plan import demo
from sliceplan.app.jobs.example_moves import GROWS, GROWTH, ExampleMoves, example_moves, grown
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.job_progress import begin, show_failure
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.what_if.points import used_profiles

EXAMPLE = "example_transition"
"""Purpose of its job; its result is there while it is shown."""


def offer_example(session: Session) -> None:
    """Draws the press that begins it, and why it is not there if it failed."""
    show_failure(session.results.get(EXAMPLE))
    if EXAMPLE not in session.open_jobs and st.button("Show an example", key="example", type="primary"):
        _begin(session)


def show_example(session: Session, example: ExampleMoves) -> None:
    """Says what the example is, above its pictures, with the press that hides it."""
    rates = {one.name: one.rate_rps for one in demo().workloads}
    st.info(
        f"**An example, not your services.** The plan of *{literal(example.problem.name)}* runs; then {GROWS} has "
        f"{GROWTH * rates[GROWS]:,.0f} requests/s where it had {rates[GROWS]:,.0f}. This is the way to the next plan."
    )
    st.button("Hide the example", key="example_hide", on_click=_hide, args=(session,))


def _begin(session: Session) -> None:
    problem = demo()
    profiles = used_profiles(problem, known_profiles())
    try:
        job = shared_jobs().submit(session.user, EXAMPLE, "an example", example_moves, problem, profiles)
    except TooManyJobsError as error:
        st.error(literal(str(error)))
        return
    begin(session, EXAMPLE, job, grown(problem))
    st.rerun()


def _hide(session: Session) -> None:
    session.results.pop(EXAMPLE, None)
