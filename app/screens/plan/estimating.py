"""One-click estimates for GPU types that a plan leaves out because no profile covers them: tried, then offered."""

from collections.abc import Sequence

import streamlit as st

from sliceplan.app.jobs.estimating import with_estimates
from sliceplan.app.jobs.remedy import Remedy
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.widgets.plan_question import PlanQuestion

from .remedying import offer_ways

ESTIMATES = PlanQuestion("estimates_for_what_is_left_out")


def offer_estimates(session: Session, answer: Answer, gpus: Sequence[str]) -> None:
    """Draws a button for each GPU type whose speeds can be estimated, with what the plan would cost then."""
    asked = (answer.problem, gpus, known_profiles())
    if not ESTIMATES.was_asked(session, answer.plan) and not ESTIMATES.ask(session, answer, with_estimates, *asked):
        return
    if ESTIMATES.is_open(session):
        st.info("Trying what the plan would be with estimated speeds.")
        return
    ways: tuple[Remedy, ...] = ESTIMATES.found(session, answer.plan) or ()
    if ways:
        st.markdown("Nothing was measured there. Each of these was planned with estimates; a press takes it over:")
        offer_ways(session, ways, "estimate")
