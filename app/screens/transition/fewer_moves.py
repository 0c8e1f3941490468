"""A plan that trades cost for moves: asked for with a limit or a price, shown with its proof, taken as the next."""

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.moves import Replanned, replan
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Result, Session, take_answer
from sliceplan.app.session.shown import shown
from sliceplan.solver.model.counted import asks_for_capacity
from sliceplan.solver.model.digest import reference
from sliceplan.solver.what_if.points import used_profiles
from sliceplan.solver.wording.reasons import reasons
from sliceplan.solver.wording.transition_text import moves_in_words
from sliceplan.solver.wording.what_is_proven import summary_and_what_of

from ...widgets.job_progress import begin
from ...widgets.texts import listed, literal

PURPOSE = "replan"
LIMIT, PRICE = "at most so many services move", "a price for each move"
CHOICE = Kept[tuple[str, float]]("transition.trade")


def show_fewer_moves(session: Session, running: Answer) -> None:
    """Draws the question, and the answer once there is one."""
    st.header("Fewer moves")
    st.caption(
        "The cheapest plan for the problem of the tables may move many services. Limit the moves, or say what one is "
        "worth to you, and see what that costs."
    )
    if session.problem is not None and asks_for_capacity(session.problem):
        st.info("Trading dollars for moves needs *Fewest dollars* as the aim (*Services and fleet*, Settings).")
        return
    kind, amount = CHOICE.of(session, (LIMIT, 1.0))
    how, much, ask = st.columns([2, 1, 1], vertical_alignment="bottom")
    kind = how.radio("Limit the moves by", (LIMIT, PRICE), (LIMIT, PRICE).index(kind), key="replan_by", horizontal=True)
    if kind == LIMIT:
        amount = float(
            much.number_input(
                "Services that may move", min_value=0, value=int(amount), key="replan_most", help="0: none may"
            )
        )
    else:
        amount = much.number_input(
            "USD per hour for a move", min_value=0.0, value=float(amount), step=0.1, key="replan_price"
        )
    CHOICE.keep(session, (kind, amount))
    problem = session.problem
    if ask.button("Find the plan", key="replan", disabled=problem is None, width="stretch") and problem is not None:
        most, price = (int(amount), None) if kind == LIMIT else (None, amount)
        used = used_profiles(problem, known_profiles())
        try:
            job = shared_jobs().submit(
                session.user,
                PURPOSE,
                f"{problem.name} with few moves",
                replan,
                problem,
                running.plan,
                used,
                price,
                most,
            )
        except TooManyJobsError as error:
            st.error(literal(str(error)))
            return
        session.results.pop(PURPOSE, None)
        begin(session, PURPOSE, job, problem)
        st.rerun()
    _show_answer(session)


def _show_answer(session: Session) -> None:
    result = session.results.get(PURPOSE)
    if result is None:
        return
    if result.value is None:
        if result.why_not:
            st.error(literal(result.why_not))
        elif result.was_cancelled:
            st.info("Stopped before there was a plan.")
        return
    found: Replanned = result.value
    plan, report = found.plan, found.report
    st.markdown(f"**{literal(summary_and_what_of(plan, plan.gap))}**")
    if not plan.gpus:
        st.markdown(listed(reasons(shown(session, result.problem, plan))))
        return
    st.markdown(literal(moves_in_words(shown(session, result.problem, report))))
    answer = session.answer
    if answer is not None and reference(answer.problem) == reference(result.problem) and answer.plan is not plan:
        more = (plan.cost_per_hour or 0.0) - (answer.plan.cost_per_hour or 0.0)
        much = (
            f"${abs(more):,.2f} per hour {'less' if more < 0 else 'more'} than" if abs(more) >= 0.005 else "as much as"
        )
        st.markdown(f"It costs {much} the next plan.")
    if session.is_outdated(result.problem):
        st.warning("The problem was changed since; find the plan again.")
    is_next = answer is not None and answer.plan is plan
    st.button(
        "Use it as the next plan",
        key="replan_use",
        disabled=is_next,
        on_click=_use,
        args=(session, result, found),
        help="It is the next plan already." if is_next else "The steps above then lead to it.",
    )


def _use(session: Session, result: Result, found: Replanned) -> None:
    take_answer(session, Answer(result.problem, found.plan))
