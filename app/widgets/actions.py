"""What can be done from every screen: solve, and compare the planners."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.profiles.left_out import left_out_in_words
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Session, take_answer
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.proving import proving_planner
from sliceplan.solver.wording.what_is_proven import summary_and_what_of

from .comparing import FIRST, compare_now
from .job_progress import begin, show_under_way
from .texts import literal

TAKEN = Kept[Comparison]("compare.taken")

ASKED = Kept["Callable[[Session, Problem], None]"]("actions.asked")
"""Where the session keeps what was asked for last, until it is begun."""

OUTDATED = " (of the problem before it was changed)"

NOT_SOLVED = "Not solved yet."


def show_actions(session: Session) -> None:
    """Draws the problem's name, its answer in one line, the buttons, and what is under way; in the sidebar."""
    problem = session.problem
    st.markdown(f"**{literal(session.tables.name)}**")
    solve, compare = st.columns(2)
    can_run = problem is not None
    # A callback notes the press before anything is drawn, so that whoever goes to another screen at once loses none. It
    # is begun after all callbacks: an undo just before it may come in the same run, and be called later.
    solve.button(
        "Solve",
        type="primary",
        disabled=not can_run,
        key="solve",
        width="stretch",
        on_click=ask,
        args=(session, solve_now),
    )
    compare.button(
        "Compare", disabled=not can_run, key="compare", width="stretch", on_click=ask, args=(session, compare_now)
    )
    asked = ASKED.taken(session)
    if asked is not None and problem is not None:
        try:
            asked(session, problem)
        except TooManyJobsError as error:
            st.error(literal(str(error)))
    if not can_run:
        st.caption("Something in the tables is wrong: see *Services and fleet*.")
    show_under_way(session)
    _take_exact(session)
    answer = session.answer
    if answer is None:
        return
    is_outdated = session.is_outdated(answer.problem)
    if is_outdated and problem is not None and problem.name != answer.problem.name:
        if "solve" not in session.open_jobs:
            st.caption(NOT_SOLVED)  # the price of another problem's plan would be read as this one's
    else:
        without = left_out_in_words(answer.problem) if answer.plan.gpus else ""
        said = "; ".join(filter(None, (summary_and_what_of(answer.plan, answer.plan.gap), without)))
        st.caption(literal(said + OUTDATED * is_outdated))


def offer_solve(session: Session, words: str, place: str) -> None:
    """Says what a solve would show here, and offers it: on a phone the sidebar with its button is out of sight."""
    st.info(words)
    if "solve" not in session.open_jobs:
        _offer(session, "Solve now", solve_now, place)


def offer_compare(session: Session, words: str, place: str) -> None:
    """Says what a comparison would show here, and offers it."""
    st.info(words)
    _offer(session, "Compare now", compare_now, place)


def offer_solve_on_a_phone(session: Session) -> None:
    """Draws the button below long tables; page.css shows it where there is no room for the sidebar."""
    with st.container(key="on_a_phone"):
        _offer(session, "Solve now", solve_now, "tables")


def offer_solve_beside(session: Session) -> None:
    """Draws the button above long tables; page.css shows it where `offer_solve_on_a_phone` is not."""
    with st.container(key="on_a_wide_page", horizontal_alignment="right"):
        _offer(session, "Solve now", solve_now, "beside")


def _offer(session: Session, label: str, begins: Callable[[Session, Problem], None], place: str) -> None:
    cannot = session.problem is None
    st.button(label, key=f"now_{place}", disabled=cannot, on_click=ask, args=(session, begins), type="primary")


def ask(session: Session, begins: Callable[[Session, Problem], None]) -> None:
    """Notes what is to be begun in the next run of the page, with the problem that stands then."""
    ASKED.keep(session, begins)


def asks_to_solve(session: Session) -> bool:
    """Tells whether a press on Solve waits to be begun."""
    return ASKED.of(session) is solve_now


def solve_now(session: Session, problem: Problem) -> None:
    """
    Begins to look for the cheapest plan, from the last one's prices.

    A problem that is solved to the end is solved anew as the first time, so that the same question has the same answer.
    """
    answer: Answer | None = session.answer
    is_done = answer is not None and answer.plan.status is Status.OPTIMAL and not session.is_outdated(answer.problem)
    start = None if answer is None or is_done else answer.plan
    job = shared_jobs().submit_solve(session.user, problem, profiles=known_profiles(), start=start)
    begin(session, "solve", job, problem)


def _take_exact(session: Session) -> None:
    """
    A comparison may have the proven plan too; it is the answer if it is later than the one that there is.

    One that began by itself searched for a moment only: its plan is an answer where it is proven and there was none.
    """
    compared = session.comparison
    if compared is None:
        return
    problem, comparison = compared
    if TAKEN.of(session) is comparison:
        return
    first = FIRST.of(session)
    if first is not None and first.plan is not None:
        comparison = _with_plan(comparison, first.plan)
        session.results["compare"] = replace(session.results["compare"], value=comparison)
    TAKEN.keep(session, comparison)
    plan = next((plan for plan in comparison.plans if plan.planner == proving_planner(problem)), None)
    if plan is not None and (first is None or (first.plan is None and plan.status is Status.OPTIMAL)):
        take_answer(session, Answer(problem, plan))


def _with_plan(comparison: Comparison, plan: Plan) -> Comparison:
    """Returns a comparison with the very plan of which a worker gave back a copy: what was asked of it stays so."""
    return replace(comparison, rows=tuple(plan if row == plan else row for row in comparison.rows))
