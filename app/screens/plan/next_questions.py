"""What one asks next of a plan, where one reads it: will it hold, what if, whom to leave out, how it is run."""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, floor
from typing import Any

import streamlit as st

from sliceplan.app.charts.percentiles import percentile_chart
from sliceplan.app.jobs.leaving_out import one_gpu_less
from sliceplan.app.jobs.remedy import Remedy
from sliceplan.app.jobs.room_to_grow import most_carried, room_to_grow
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.leading import lead_to, lead_to_files
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.simulation import worst_first
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.plan_question import PlanQuestion
from sliceplan.app.widgets.simulation import PURPOSE as SIMULATE
from sliceplan.app.widgets.simulation import asked_of, begin_simulation, simulation_of
from sliceplan.app.widgets.texts import literal
from sliceplan.app.widgets.traffic import usual_traffic
from sliceplan.solver.model.capacity_report import HeadroomReport
from sliceplan.solver.model.simulation_report import SimulationReport, Verdict
from sliceplan.solver.what_if.points import used_profiles

from .most_carried import show_most_carried, why_not_known
from .remedying import offer_ways

ROOM, MOST, LESS = (PlanQuestion(purpose) for purpose in ("room_to_grow", "most_carried", "one_gpu_less"))
"""Questions that a search answers."""

LAST = Kept[str]("plan.asked_last")
"""The purpose of the question that was asked last."""

MOST_NEAREST = 8
"""Services whose percentiles are drawn here; the screen "Will it hold?" has all."""

ANSWERS: dict[Verdict, str] = {
    "yes": "Yes, every service does",
    "no": "No, some services do not",
    "unsure": "Not sure for all services",
    "unknown": "Not known",
}


def show_next_questions(session: Session, answer: Answer) -> None:
    """Draws the questions, and the answers that there are."""
    with st.container(horizontal=True, key="beside_questions"):
        _ask_whether_it_holds(session, answer)
        _lead(session, "What if?", "what-if", "Change rates, SLOs and prices with sliders, and see the new plan.")
        kept = "the plan has one GPU" if len(answer.plan.gpus) == 1 else None
        kept = "every GPU may be used where most requests are the aim" if answer.plan.capacity else kept
        less = "Which services would have to go so that the plan takes one GPU less?"
        _ask(session, answer, LESS, "One GPU less?", less, one_gpu_less, kept)
        _ask(session, answer, ROOM, "How much more fits?", "How much can all rates grow on these GPUs?", room_to_grow)
        most = "What could these GPUs carry at most, if every service got what is left?"
        _ask(session, answer, MOST, "Most these GPUs carry?", most, most_carried, why_not_known(answer.problem))
        # files_come_into_view.js looks for this key, here and on the screen Transition.
        files = "Files for Kubernetes, Docker, Triton, a router or sliceplan's agent, and steps to apply them."
        st.button("How do I run it?", key="to_files", help=files, on_click=lead_to_files, args=(session,))
    report = simulation_of(session, answer.plan)
    shows: dict[str, Callable[[], None]] = {}
    if report is not None:
        shows[SIMULATE] = partial(_show_percentiles, session, shown(session, answer.problem, report))
    if (room := ROOM.found(session, answer.plan)) is not None:
        shows[ROOM.purpose] = partial(_show_room, room)
    if (most := MOST.found(session, answer.plan)) is not None:
        shows[MOST.purpose] = partial(show_most_carried, shown(session, answer.problem, most))
    if (ways := LESS.found(session, answer.plan)) is not None:
        shows[LESS.purpose] = partial(_show_less, session, ways)
    # What was asked last stands beside its button, where it is looked for.
    last = LAST.of(session)
    for purpose in sorted(shows, key=lambda purpose: purpose != last):
        shows[purpose]()


def _ask_whether_it_holds(session: Session, answer: Answer) -> None:
    """Draws the question that a simulation of the plan answers."""
    meaning = "Simulates the plan request by request: how long users wait, and which services keep their SLO."
    is_open = SIMULATE in session.open_jobs
    known = simulation_of(session, answer.plan) is not None
    if st.button("Will it hold?", key="ask_will_it_hold", help=meaning, disabled=is_open or known):
        LAST.keep(session, SIMULATE)
        begin_simulation(session, answer, asked_of(session, answer.plan) or usual_traffic(answer.problem))


def _show_room(room: HeadroomReport) -> None:
    st.markdown(f"**Room to grow:** {literal(in_words(room))}")


def _show_percentiles(session: Session, report: SimulationReport) -> None:
    """Draws whether the services keep their SLOs, and how near those come to it that are nearest."""
    promise = f"{100 * report.quantile:g} % of requests within the SLO, as simulated last"
    st.markdown(f"**Will it hold?** {ANSWERS[report.holds]}: {promise}.")
    nearest = worst_first(report.services)[:MOST_NEAREST]
    if nearest:
        show_picture(session, percentile_chart(nearest, report.quantile), "percentiles")
    of_many = f"The {len(nearest)} of {len(report.services):,} services that come nearest to their SLO. "
    st.caption(of_many * (len(nearest) < len(report.services)) + "P50, P95 and the promised percentile of each.")
    _lead(session, "More load, bursts, other routers", "will-it-hold", "The same with other traffic, and each service.")


def _show_less(session: Session, ways: Sequence[Remedy]) -> None:
    """Draws whom to leave out, each with a button that does it."""
    if not ways:
        st.markdown("**One GPU less?** Leaving out services was not found to save a GPU.")
        return
    st.markdown("**One GPU less?** Yes, by leaving out services. A press does it, and you can take it back:")
    offer_ways(session, ways, "less", gives_up=True)


def _lead(session: Session, question: str, path: str, meaning: str) -> None:
    """Draws a question that another screen answers."""
    key = f"lead_to_{path.replace('-', '_')}"
    st.button(question, key=key, help=meaning, on_click=lead_to, args=(session, path))


def _ask(
    session: Session,
    answer: Answer,
    asked: PlanQuestion,
    question: str,
    meaning: str,
    search: Callable[..., Any],
    why_not: str | None = None,
) -> None:
    """Draws a question that a search answers, which begins when it is pressed; short, as five stand on a phone."""
    closed = why_not is not None or asked.is_open(session)
    if st.button(question, key=f"ask_{asked.purpose}", disabled=closed, help=why_not or meaning):
        LAST.keep(session, asked.purpose)
        profiles = used_profiles(answer.problem, known_profiles())
        if asked.ask(session, answer, search, answer.problem, answer.plan, profiles):
            st.rerun()


def in_words(report: HeadroomReport) -> str:
    """Returns how far all rates can grow on the plan's GPUs, and what is proven of it."""
    if report.factor is None:
        return "no factor was found in time."
    # Rounded so that both stay true, and are two figures.
    more = floor(round(1000 * (report.factor - 1), 6)) / 1000
    said = f"all rates can grow by {more:.1%} on these GPUs, divided anew" if more > 0 else "none on these GPUs"
    if report.factor_limit is not None:
        least = max(ceil(round(1000 * (report.factor_limit - 1), 6)), round(1000 * more) + 1) / 1000
        said += f"; by {least:.1%} they cannot, which is proven"
    return f"{said}."
