"""
Make it hold: the same services planned by what their requests see, and what that costs.

Beside the button stands what it would cost, from a search of a moment that begins by itself where a plan does not hold.
"""

import streamlit as st

from sliceplan.app.jobs.cost_of_holding import MOST_SERVICES, cost_of_holding, limit_s
from sliceplan.app.jobs.cost_of_holding import PURPOSE as COST
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.simulating import Traffic
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Answer, Result, Session, open_problem, take_answer
from sliceplan.solver.api.routers import ROUTERS
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.model.words import boards_in_words
from sliceplan.solver.performance.latency_rules.rules import not_by_set
from sliceplan.solver.what_if.points import used_profiles
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH
from sliceplan.solver.wording.summary import plan_result, plan_summary

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
        quick = _costed(session, wanted)
        if quick is not None and quick.status is Status.OPTIMAL:  # there is nothing more to be found
            session.results[PURPOSE] = Result(wanted, quick)
            st.rerun()
        try:
            job = shared_jobs().submit_solve(session.user, wanted, profiles=known_profiles(), start=quick)
        except TooManyJobsError as error:
            st.error(literal(str(error)))
            return
        session.results.pop(PURPOSE, None)
        begin(session, PURPOSE, job, wanted)
        st.rerun()


def _known_cost(session: Session, wanted: Problem) -> str:
    """Returns what it costs where that was planned for already or is proven, or else nothing."""
    quick = _costed(session, wanted)
    plan = _found(session, PURPOSE, wanted) or (quick if quick and quick.status is Status.OPTIMAL else None)
    return "" if plan is None or plan.cost_per_hour is None else f": ${plan.cost_per_hour:,.2f} per hour"


def _found(session: Session, purpose: str, wanted: Problem) -> Plan | None:
    """Returns the plan for a promise that a job found; None: there is none yet."""
    found = session.results.get(purpose)
    if found is None or not isinstance(found.value, Plan) or reference(found.problem) != reference(wanted):
        return None
    return found.value


def _costed(session: Session, wanted: Problem) -> Plan | None:
    """Returns the plan of a moment's search."""
    return _found(session, COST, wanted)


def begin_to_cost(session: Session, answer: Answer, traffic: Traffic) -> None:
    """Begins to look for a moment what a plan that holds costs, once for each promise, and draws the page anew."""
    wanted = promising(answer.problem, traffic)
    if reference(wanted) == reference(answer.problem) or not _is_due(session, wanted):
        return
    title = f"{wanted.name}: what {100 * traffic.quantile:g} % in time costs"
    try:
        profiles = used_profiles(wanted, known_profiles())
        job = shared_jobs().submit(session.user, COST, title, cost_of_holding, wanted, profiles)
    except TooManyJobsError:
        return
    session.results.pop(COST, None)
    begin(session, COST, job, wanted)
    st.rerun()


def _is_due(session: Session, wanted: Problem) -> bool:
    """Tells whether the cost of a promise was not looked for yet, with or without a plan that came of it."""
    last = [found.problem for purpose in (PURPOSE, COST) if (found := session.results.get(purpose)) is not None]
    is_known = any(reference(one) == reference(wanted) for one in last)
    return not (is_known or PURPOSE in session.open_jobs or _is_open(session, wanted)) and (
        len(wanted.workloads) <= MOST_SERVICES
    )


def _is_open(session: Session, wanted: Problem) -> bool:
    job = session.open_jobs.get(COST)
    return job is not None and reference(job.problem) == reference(wanted)


def say_what_it_costs(session: Session, answer: Answer, traffic: Traffic) -> None:
    """Says, beside the button, what a plan that holds costs, or that this is not known; nothing once it is planned."""
    wanted = promising(answer.problem, traffic)
    if reference(wanted) == reference(answer.problem) or _found(session, PURPOSE, wanted) is not None:
        return
    if PURPOSE not in session.open_jobs:
        st.caption(literal(_cost_in_words(session, wanted, answer.plan)))


def _cost_in_words(session: Session, wanted: Problem, before: Plan) -> str:
    quick = _costed(session, wanted)
    if quick is None:
        is_looked_for = _is_open(session, wanted) or _is_due(session, wanted)
        return "What it costs is being looked for." if is_looked_for else UNKNOWN
    if not quick.gpus:
        if quick.search.stopped == StopReason.INFEASIBLE:
            promised = f"{100 * wanted.settings.quantile:g} %"
            return f"Proven: no plan on this fleet can promise {promised} in time for every service."
        return f"{UNKNOWN} In {limit_s(wanted):g} s no plan was found."
    said = f"It would take {plan_result(quick, quick.gap)}"
    if before.cost_per_hour is not None and quick.cost_per_hour is not None:
        said += f"; {_difference(quick.cost_per_hour - before.cost_per_hour)} than this plan"
    longer = "" if quick.status is Status.OPTIMAL else f" That was found in {limit_s(wanted):g} s; a press searches on."
    return f"{said}.{longer}"


def _difference(more: float) -> str:
    return "at no extra cost" if abs(more) < CENT / 2 else f"${abs(more):,.2f} {'more' if more > 0 else 'less'}"


UNKNOWN = "What it costs is not known before it is planned."

CENT = 0.01


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
        if abs(more) < CENT / 2:
            words = "It costs nothing more than the plan that does not hold."
        else:
            sign = "more" if more > 0 else "less"
            words = (
                f"${abs(more):,.2f} per hour {sign} than the plan above ({boards_in_words(before.gpus)}), "
                f"${abs(more) * HOURS_A_MONTH:,.0f} per month."
            )
        st.markdown(literal(words))
    if st.button("Use this plan", key="adopt_holding", help="The tables then state the promise; undo goes back."):
        open_problem(session, holding.problem, session.saved_as)
        take_answer(session, Answer(holding.problem, after))
        st.rerun()
