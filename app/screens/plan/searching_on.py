"""Where a search ended at its time limit without a plan: whether more time gives one, tried before it is offered."""

import streamlit as st

from sliceplan.app.jobs.searching_on import LONGER, limit_s, longer, searched_on
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Answer, Session, open_problem
from sliceplan.app.widgets.actions import ask, solve_now
from sliceplan.app.widgets.plan_question import PlanQuestion
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.what_if.points import used_profiles

MORE_TIME = PlanQuestion("search_on")


def tried_with_more_time(session: Session, answer: Answer) -> Plan | None:
    """
    Returns a plan, or the proof that there is none, that more time gave; None: nothing, or not yet, which is said.

    It is looked for when the answer is first shown.
    """
    problem, plan = answer.problem, answer.plan
    seconds = limit_s(problem)
    if not MORE_TIME.was_asked(session, plan) and not MORE_TIME.ask(
        session, answer, searched_on, problem, plan, used_profiles(problem, known_profiles())
    ):
        return None
    if MORE_TIME.is_open(session):
        st.info(f"Searching on from what was found, for at most {seconds:g} s. The result appears here.")
        return None
    found: Plan | None = MORE_TIME.found(session, plan)
    if found is not None and (found.gpus or found.status is Status.INFEASIBLE):
        return found
    if found is not None:
        st.info(f"A search of {found.runtime_s:.0f} s more found no plan either.")
    further = LONGER * seconds
    st.button(
        f"Search for {further:g} s",
        key="longer",
        on_click=_search_longer,
        args=(session, problem, further),
        help="A guess: it is not known whether that is long enough. You can stop it at any time.",
    )
    return None


def _search_longer(session: Session, problem: Problem, seconds: float) -> None:
    open_problem(session, longer(problem, seconds), session.saved_as)
    ask(session, solve_now)
