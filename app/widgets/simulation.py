"""The last simulation, for all screens that ask for it or show it: which plan it was of, and what came of it."""

from dataclasses import replace

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.simulating import Simulated, Traffic, simulated
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Session
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.simulation_report import SimulationReport

from .job_progress import begin
from .texts import literal
from .traffic import usual_traffic, words_of

PURPOSE = "simulate"

ASKED = Kept[tuple[Plan, Traffic]]("will_it_hold.asked")
"""Where the session keeps the plan and the traffic of the simulation that was begun last."""


def begin_simulation(session: Session, answer: Answer, traffic: Traffic) -> bool:
    """Begins to carry a plan out and draws the page anew; False: too much is under way, which is said."""
    title = f"{answer.problem.name}: {words_of(traffic)}"
    try:
        job = shared_jobs().submit(session.user, PURPOSE, title, simulated, answer.problem, answer.plan, traffic)
    except TooManyJobsError as error:
        st.error(literal(str(error)))
        return False
    if asked_of(session, answer.plan) is None:
        session.results.pop(PURPOSE, None)
    ASKED.keep(session, (answer.plan, traffic))
    begin(session, PURPOSE, job, answer.problem)
    st.rerun()
    return True


def asked_of(session: Session, plan: Plan) -> Traffic | None:
    """Returns what the last simulation was asked; None: it was of another plan, or there was none."""
    of, traffic = ASKED.of(session, (None, None))
    return traffic if of is plan else None


def simulation_of(session: Session, plan: Plan) -> SimulationReport | None:
    """Returns what the plan did, request by request; None: it was not simulated, or is being simulated anew."""
    found = session.results.get(PURPOSE)
    asked = asked_of(session, plan)
    if found is None or asked is None or not isinstance(found.value, Simulated) or found.value.traffic != asked:
        return None
    return found.value.report


def usual_simulation_of(session: Session, problem: Problem, plan: Plan) -> SimulationReport | None:
    """Returns what the plan did at its own rates and random arrivals; None: it was not carried out so."""
    asked, usual = asked_of(session, plan), usual_traffic(problem)
    if asked is None or replace(asked, requests=usual.requests) != usual:
        return None
    return simulation_of(session, plan)
