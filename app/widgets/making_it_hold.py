"""Make it hold: the same services planned by what their requests see, and what that costs."""

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.simulating import Traffic
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Answer, Result, Session, open_problem
from sliceplan.solver.api.routers import ROUTERS
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import boards_in_words
from sliceplan.solver.performance.latency_rules.rules import not_by_set
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH
from sliceplan.solver.wording.summary import plan_summary

from .job_progress import begin, show_failure
from .texts import literal

PURPOSE = "make_it_hold"
IN_TURNS = "weighted_round_robin"
"""Planned for wherever a better router is not: such a plan holds with it too."""


def promising(problem: Problem, traffic: Traffic) -> Problem:
    """Returns the problem with the promise that was looked at: a quantile, and how requests are dealt."""
    dispatch = traffic.dispatch if traffic.dispatch in ROUTERS else IN_TURNS
    promised = _with_promise(problem, traffic.quantile, dispatch)
    return _with_promise(problem, traffic.quantile, IN_TURNS) if any(not_by_set(promised)) else promised


def _with_promise(problem: Problem, quantile: float, dispatch: str) -> Problem:
    promise = {"latency": "percentile", "quantile": quantile, "dispatch": dispatch}
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=promise)})


def offer_to_make_it_hold(
    session: Session, answer: Answer, traffic: Traffic, label: str = "Make it hold: plan"
) -> None:
    """Draws the button; nothing where the plan was made for the promise that was looked at."""
    wanted = promising(answer.problem, traffic)
    if reference(wanted) == reference(answer.problem):
        return
    if st.button(
        literal(f"{label} for {100 * traffic.quantile:g} % in time{_known_cost(session, wanted)}"),
        key="make_it_hold",
        help="Plans the same services on the same fleet so that this share of the requests is within the SLO at random "
        "(Poisson) arrivals, at these rates and all lower ones. Your problem stays as it is until you adopt it.",
    ):
        try:
            job = shared_jobs().submit_solve(session.user, wanted, profiles=known_profiles())
        except TooManyJobsError as error:
            st.error(literal(str(error)))
            return
        session.results.pop(PURPOSE, None)
        begin(session, PURPOSE, job, wanted)
        st.rerun()


def _known_cost(session: Session, wanted: Problem) -> str:
    """Returns what it costs where that was planned for already, or else nothing."""
    found = session.results.get(PURPOSE)
    if found is None or not isinstance(found.value, Plan) or reference(found.problem) != reference(wanted):
        return ""
    cost = found.value.cost_per_hour
    return "" if cost is None else f": ${cost:,.2f} per hour"


def show_what_holds(session: Session, answer: Answer, traffic: Traffic) -> None:
    """Draws what a plan that keeps the promise costs, where it was asked for."""
    found = session.results.get(PURPOSE)
    if found is None or reference(found.problem) != reference(promising(answer.problem, traffic)):
        return
    if reference(found.problem) == reference(answer.problem):
        return
    show_failure(found)
    if isinstance(found.value, Plan):
        _show_cost(session, answer, Answer(found.problem, found.value))


def _show_cost(session: Session, answer: Answer, holding: Answer) -> None:
    before, after = answer.plan, holding.plan
    st.markdown(f"**It holds with:** {literal(plan_summary(after, after.gap))}")
    if not after.gpus:
        return
    if before.cost_per_hour is not None and after.cost_per_hour is not None:
        more = after.cost_per_hour - before.cost_per_hour
        if abs(more) < 0.005:
            words = "It costs nothing more than the plan that does not hold."
        else:
            sign = "more" if more > 0 else "less"
            words = (
                f"${abs(more):,.2f} per hour {sign} than the plan above ({boards_in_words(before.gpus)}), "
                f"${abs(more) * HOURS_A_MONTH:,.0f} per month."
            )
        st.markdown(literal(words))
    if st.button(
        "Adopt as the problem", key="adopt_holding", help="The tables then state the promise; undo goes back."
    ):
        open_problem(session, holding.problem, session.saved_as)
        session.results["solve"] = Result(holding.problem, after)
        st.rerun()
