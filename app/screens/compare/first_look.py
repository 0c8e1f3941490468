"""
A first comparison, which begins by itself when the screen is opened, as the questions of the screen Plan do.

The plan at hand is its first row and gives the bound; every planner whose search ends by itself follows, for a moment
each. Whoever wants the others too, or all of their time, presses a button.
"""

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.actions import ask
from sliceplan.app.widgets.comparing import FIRST, LIMIT, PLANNERS, FirstLook, compare_now
from sliceplan.app.widgets.job_progress import begin
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.model.words import counted
from sliceplan.solver.planners.facts import PlannerFacts

MOST_S = 3.0
"""For each planner; the published rules take less of 1,000 services."""

MOST_SERVICES = 2_000
"""More are compared only when somebody says so: everyone's worker processes would be busy with them for long."""


def begin_first_look(session: Session, facts: dict[str, PlannerFacts]) -> bool:
    """Begins to compare if the problem was not compared and nothing else is to be waited for; tells whether it did."""
    problem = session.problem
    if problem is None or not facts or len(problem.workloads) > MOST_SERVICES or not _is_due(session, problem):
        return False
    plan = _at_hand(session)
    names = [name for name in _chosen(session, problem, facts) if not facts[name].searches_on]
    if not names:
        return False
    try:
        job = shared_jobs().submit_compare(
            session.user,
            problem,
            profiles=known_profiles(),
            planners=names,
            time_limit_s=min(MOST_S, _limit_s(session, problem)),
            at_hand=() if plan is None else (plan,),
        )
    except TooManyJobsError:
        return False
    FIRST.keep(session, FirstLook(reference(problem), plan))
    begin(session, "compare", job, problem)
    return True


def _is_due(session: Session, problem: Problem) -> bool:
    """Tells whether nobody compared this problem, nor the plan that there is of it by now."""
    if session.open_jobs.keys() & {"solve", "compare"}:
        return False
    first, compared = FIRST.of(session), session.comparison
    if compared is not None and first is None:
        return False  # somebody pressed for it
    if first is None or first.problem != reference(problem):
        return True
    plan = _at_hand(session)
    known = () if compared is None else compared[1].plans
    return plan is not None and plan is not first.plan and not any(plan is one for one in known)


def _at_hand(session: Session) -> Plan | None:
    answer = session.answer
    return None if answer is None or session.is_outdated(answer.problem) else answer.plan


def _chosen(session: Session, problem: Problem, facts: dict[str, PlannerFacts]) -> list[str]:
    chosen = PLANNERS.of(session)
    return [name for name, one in facts.items() if one.plans(problem) and (chosen is None or name in chosen)]


def _limit_s(session: Session, problem: Problem) -> float:
    return LIMIT.of(session) or problem.settings.time_limit_s


def offer_the_rest(session: Session, problem: Problem, compared: Comparison, facts: dict[str, PlannerFacts]) -> None:
    """Says what a comparison that began by itself leaves out, and offers one that leaves out nothing."""
    first = FIRST.of(session)
    if first is None or first.problem != reference(problem) or session.is_outdated(problem):
        return
    chosen, limit_s = _chosen(session, problem, facts), _limit_s(session, problem)
    endless = [name for name in chosen if facts[name].searches_on]
    said = (
        f"A first look: {'' if first.plan is None else 'the plan at hand, and '}at most {MOST_S:g} s for each planner."
    )
    if endless:
        said += f" Not run, because they search until they are stopped: {', '.join(endless)}."
    cut_short = limit_s > MOST_S and any(plan.search.stopped == StopReason.TIME_LIMIT for plan in compared.plans)
    if not endless and not cut_short:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(literal(said), width="content")
        st.button(
            f"Compare {counted(len(chosen), 'planner')}, each up to {limit_s:g} s",
            key="compare_fully",
            on_click=ask,
            args=(session, compare_now),
        )
