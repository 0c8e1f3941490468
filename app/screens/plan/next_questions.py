"""What one asks next of a plan, where one reads it: will it hold, how much more fits, whom to leave out, what if."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from sliceplan.app.jobs.leaving_out import one_gpu_less
from sliceplan.app.jobs.remedy import Remedy
from sliceplan.app.jobs.room_to_grow import most_carried, room_to_grow
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.widgets.plan_question import PlanQuestion
from sliceplan.app.widgets.simulation import simulation_of
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.capacity_report import HeadroomReport
from sliceplan.solver.model.simulation_report import Verdict
from sliceplan.solver.what_if.points import used_profiles

from .most_carried import show_most_carried, why_not_known
from .remedying import offer_ways

ROOM, MOST, LESS = (PlanQuestion(purpose) for purpose in ("room_to_grow", "most_carried", "one_gpu_less"))
"""Questions that a search answers."""

ANSWERS: dict[Verdict, str] = {
    "yes": "Yes, every service does",
    "no": "No, some services do not",
    "unsure": "Not sure for all services",
    "unknown": "Not known",
}


def show_next_questions(session: Session, answer: Answer) -> None:
    """Draws the questions, and the answers that there are."""
    with st.container(horizontal=True):
        st.button("Will it hold, request by request?", key="ask_hold", on_click=lead_to, args=(session, "will-it-hold"))
        _ask(session, answer, ROOM, "How much more traffic fits on these GPUs?", room_to_grow)
        _ask(session, answer, MOST, "What could they carry at most?", most_carried, why_not_known(answer.problem))
        kept = "every GPU may be used where most requests are the aim" if answer.plan.capacity else None
        _ask(session, answer, LESS, "Whom to leave out for one GPU less?", one_gpu_less, kept)
        st.button("What if?", key="ask_what_if", on_click=lead_to, args=(session, "what-if"))
    report = simulation_of(session, answer.plan)
    if report is not None:
        promise = f"{100 * report.quantile:g} % of requests within the SLO, as simulated last"
        st.markdown(f"**Will it hold?** {ANSWERS[report.holds]}: {promise}.")
    if (room := ROOM.found(session, answer.plan)) is not None:
        st.markdown(f"**Room to grow:** {literal(in_words(room))}")
    if (most := MOST.found(session, answer.plan)) is not None:
        show_most_carried(most)
    if (ways := LESS.found(session, answer.plan)) is not None:
        _show_less(session, ways)


def _show_less(session: Session, ways: Sequence[Remedy]) -> None:
    """Draws whom to leave out, each with a button that does it."""
    if not ways:
        st.markdown("**One GPU less:** no service can be left out for it that makes the plan cheaper.")
        return
    st.markdown("**One GPU less**, each planned; a press makes it the problem, and Undo takes it back:")
    offer_ways(session, ways, "less")


def _ask(
    session: Session,
    answer: Answer,
    asked: PlanQuestion,
    question: str,
    search: Callable[..., Any],
    why_not: str | None = None,
) -> None:
    """Draws a question that a search answers, which begins when it is pressed."""
    closed = why_not is not None or asked.is_open(session)
    if st.button(question, key=f"ask_{asked.purpose}", disabled=closed, help=why_not):
        profiles = used_profiles(answer.problem, known_profiles())
        if asked.ask(session, answer, search, answer.problem, answer.plan, profiles):
            st.rerun()


def in_words(report: HeadroomReport) -> str:
    """Returns how far all rates can grow on the plan's GPUs, and what is proven of it."""
    if report.factor is None:
        return "no factor was found in time."
    more = report.factor - 1
    said = f"all rates can grow by {more:.1%} on these GPUs, divided anew" if more >= 0.0005 else "none on these GPUs"
    if report.factor_limit is not None:
        said += f"; by {max(report.factor_limit - 1, 0.0):.1%} they cannot, which is proven"
    return f"{said}."
