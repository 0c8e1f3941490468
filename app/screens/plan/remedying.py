"""One-click ways out where there is no plan: tried by a worker before they are offered."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from sliceplan.app.jobs.refused import taken_with
from sliceplan.app.jobs.remedies import remedies
from sliceplan.app.jobs.remedy import Remedy
from sliceplan.app.jobs.searching_on import limit_s, longer
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.problem_state import undo
from sliceplan.app.session.session import Answer, Result, Session, open_problem, take_answer
from sliceplan.app.session.shown import names_shown
from sliceplan.app.widgets.plan_question import PlanQuestion
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.naming import naming
from sliceplan.solver.model.objective import COST
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import boards_in_words, counted
from sliceplan.solver.what_if.points import used_profiles

from .searching_on import tried_with_more_time

REMEDIES = PlanQuestion("what_would_help")

HELPED = (Status.INFEASIBLE, Status.NONE_FOUND, Status.TIMEOUT)
"""Answers without a plan where longer SLOs, or more GPUs, may give one."""

TAKEN = Kept["Taken"]("plan.taken")


@dataclass(frozen=True)
class Taken:
    """A way out that was pressed."""

    words: str
    problem: Problem
    """As it is with it."""
    before: Result
    """The answer that it led out of."""
    plan_before: Answer | None = None
    """The plan before that answer."""


def offer_remedies(session: Session, answer: Answer) -> None:
    """Draws a button for each change that gives the problem a plan; looks for them when the plan is first shown."""
    _offer_changes(session, answer)
    if answer.plan.status is Status.TIMEOUT and (found := tried_with_more_time(session, answer)) is not None:
        seconds = limit_s(answer.problem)
        way = Remedy(f"Search for {seconds:g} s", longer(answer.problem, seconds), found)
        offer_ways(session, (way,), "more_time")


def _offer_changes(session: Session, answer: Answer) -> None:
    problem, plan = answer.problem, answer.plan
    if plan.status not in (*HELPED, Status.REFUSED) or not plan.unserved:
        return
    refused = plan.status is Status.REFUSED
    if not REMEDIES.was_asked(session, plan):
        profiles = used_profiles(problem, known_profiles())
        names = [item.workload for item in plan.unserved]
        search, asked = (taken_with, (problem, profiles)) if refused else (remedies, (problem, names, profiles))
        if not REMEDIES.ask(session, answer, search, *asked):
            return
    tried = "other settings, or less of the fleet" if refused else "longer SLOs, more GPUs"
    if REMEDIES.is_open(session):
        st.info(f"Trying what would help: {tried}. What works appears here.")
        return
    ways: tuple[Remedy, ...] = REMEDIES.found(session, plan) or ()
    if not ways:
        limits = "" if refused else " SLOs up to ten times as long, or more of these GPUs."
        st.info(f"No single change that was tried leads to a plan{':' if limits else '.'}{limits}")
        return
    st.markdown("**What would help.** Each was tried; a press changes the problem, and you can take it back:")
    offer_ways(session, ways, "remedy")


def offer_ways(session: Session, ways: Sequence[Remedy], key: str, *, gives_up: bool = False) -> None:
    """
    Draws a button for each way, which makes it the problem, with its plan and what that costs.

    Parameters
    ----------
    gives_up
        There is a plan already, with more GPUs: no way is advised, and how many GPUs less it takes is said.
    """
    answer = session.answer
    called = str if answer is None else names_shown(session, answer.problem)
    for number, way in enumerate(ways):
        words = naming(way.sentence, [called(name) for name in way.named])
        st.button(
            literal(f"{words}: {_cost(way.plan)}{_fewer(answer, way.plan) if gives_up else ''}"),
            key=f"{key}_{number}",
            on_click=_take,
            args=(session, way, words),
            type="primary" if number == 0 and not gives_up else "secondary",
        )


def _fewer(answer: Answer | None, plan: Plan) -> str:
    fewer = 0 if answer is None else answer.plan.gpus_used - plan.gpus_used
    return f", {counted(fewer, 'GPU')} less" if fewer > 0 else ""


def _cost(plan: Plan) -> str:
    if not plan.gpus:
        return "it proves that there is no plan"
    gpus = boards_in_words(plan.gpus)
    return gpus if plan.cost_per_hour is None else f"{gpus}, {COST.shown(plan.cost_per_hour)}"


def _take(session: Session, way: Remedy, words: str) -> None:
    """Makes a remedy the problem, with its plan."""
    TAKEN.keep(session, Taken(words, way.problem, session.results["solve"], session.before))
    open_problem(session, way.problem, session.saved_as)
    take_answer(session, Answer(way.problem, way.plan))


def show_taken(session: Session) -> None:
    """Says which way out was taken while its plan is the one that is shown, and lets it be taken back."""
    taken, answer = TAKEN.of(session), session.answer
    if taken is None or answer is None or answer.problem is not taken.problem or session.is_outdated(taken.problem):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**Changed in the problem:** {literal(taken.words)}.", width="content")
        st.button("Take it back", key="take_back", on_click=_take_back, args=(session, taken))


def _take_back(session: Session, taken: Taken) -> None:
    TAKEN.forget(session)
    undo(session)
    session.results["solve"], session.before = taken.before, taken.plan_before
