"""Beginning a comparison with what was chosen: which planners, and how long each may search."""

from dataclasses import dataclass

import streamlit as st

from sliceplan.app.jobs.jobs import list_planners, shared_jobs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.solver.model.plan import Plan, ProblemReference
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.planners.facts import PlannerFacts

from .job_progress import begin

PLANNERS = Kept[tuple[str, ...] | None]("compare.planners")
LIMIT = Kept[float | None]("compare.time_limit_s")
"""Where the session keeps what was chosen; missing or None: all planners, the problem's own limit."""

FIRST = Kept["FirstLook"]("compare.first")
"""Where the session keeps what was compared last, if nobody pressed for it."""


@dataclass(frozen=True)
class FirstLook:
    """What a comparison that began by itself answers."""

    problem: ProblemReference
    plan: Plan | None
    """That was at hand, and is the row of its planner; None: there was none."""


WAIT_S = 60.0


class NotReadyError(RuntimeError):
    """The worker processes have not answered in time."""


@st.cache_resource(show_spinner="The workers are starting")
def known_planners() -> tuple[PlannerFacts, ...]:
    """Returns what is said of every planner; asked of a worker once, as this process does not load the solvers."""
    jobs = shared_jobs()
    found: tuple[PlannerFacts, ...] | None = jobs.result(
        jobs.submit("the page", "planners", "the planners' names", list_planners), WAIT_S
    )
    if found is None:
        raise NotReadyError("the workers did not say in time which planners there are; reload the page")
    return found


def compare_now(session: Session, problem: Problem) -> None:
    """Begins to put the chosen planners side by side."""
    FIRST.forget(session)
    chosen: tuple[str, ...] | None = PLANNERS.of(session)
    job = shared_jobs().submit_compare(
        session.user,
        problem,
        profiles=known_profiles(),
        planners=chosen,
        time_limit_s=LIMIT.of(session),
    )
    begin(session, "compare", job, problem)
