"""Downloading a plan: its file, its problem, a report for a change ticket, and what other tools take."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.report.report import plan_report
from sliceplan.app.report.way import way_between
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.session.shown import named_now
from sliceplan.app.session.stand_ins import stand_ins_in
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import dump_problem
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.model.transition import Transition

from ...widgets.files import offer_file
from ...widgets.job_progress import begin
from ...widgets.simulation import simulation_of
from ...widgets.texts import literal
from .exporting import offer_exports

STEPS = "report_steps"
"""The purpose of the job that works out the steps of the report."""

STEPS_OF = Kept[tuple[Answer, Plan]]("taking.steps_of")
"""Where the session keeps which running plan and which plan those steps are between."""


def offer_plan(session: Session) -> None:
    """Draws what can be downloaded of the session's plan, if there is one. Files are made when they are asked for."""
    answer = session.answer
    if answer is None:
        return
    answer = Answer(named_now(session, answer.problem), answer.plan)
    problem, plan = answer.problem, answer.plan
    st.header("Download and deploy")
    steps, trouble = _steps(session, answer)
    assumed = [one.words for one in stand_ins_in(session, problem)]
    row = st.container(horizontal=True)
    offer_file(
        "Plan as JSON",
        partial(_plan_text, answer),
        problem.name,
        "plan.json",
        key="take_plan",
        place=row,
        width="content",
        help_text="The plan itself: for `sliceplan show`, `check`, `export` and `transition`, and for the agent.",
    )
    offer_file(
        "Problem as YAML",
        partial(dump_problem, problem),
        problem.name,
        "problem.yaml",
        key="take_problem",
        place=row,
        width="content",
        help_text="What this plan answers: fleet, services and settings, for `sliceplan solve` and for this page.",
    )
    offer_file(
        "Report as HTML",
        partial(_report, answer, session.running, steps, trouble, simulation_of(session, plan), assumed),
        problem.name,
        "report.html",
        key="take_report",
        place=row,
        width="content",
        help_text="One file for a change ticket: what, cost, proof, risks and steps. It needs nothing else and prints "
        "well.",
    )
    if plan.gpus:
        more = ["whether the plan holds (ask *Will it hold?* above)"] * (simulation_of(session, plan) is None)
        more += ["the steps from what runs now (choose that on the screen *Transition*)"] * (session.running is None)
        if more:
            st.caption(f"The report can also say {' and '.join(more)}.")
        _offer_steps(session, answer, steps, trouble)
        offer_exports(session, problem, plan)


def _steps(session: Session, answer: Answer) -> tuple[Transition | None, str | None]:
    """Returns the steps from the running plan to this one, if they were worked out, or why they could not be."""
    between, found = STEPS_OF.of(session), session.results.get(STEPS)
    if between is None or found is None or STEPS in session.open_jobs:
        return None, None
    if between[0] is not session.running or between[1] is not answer.plan:
        return None, None
    return found.value, found.error


def _offer_steps(session: Session, answer: Answer, steps: Transition | None, trouble: str | None) -> None:
    running = session.running
    if running is None:
        return
    if steps is not None:
        st.caption(f"The report has {len(steps.steps)} steps from the running plan of {literal(running.problem.name)}.")
        return
    if trouble:
        st.error(f"The steps from the running plan could not be worked out: {literal(trouble)}")
    is_open = STEPS in session.open_jobs
    try:
        if st.button("Add the steps from the running plan to the report", key="take_steps", disabled=is_open):
            job = shared_jobs().submit(
                session.user, "transition", f"steps to {answer.problem.name}", way_between, running.plan, answer.plan
            )
            session.results.pop(STEPS, None)
            STEPS_OF.keep(session, (running, answer.plan))
            begin(session, STEPS, job, answer.problem)
            st.rerun()
    except TooManyJobsError as error:
        st.error(literal(str(error)))


def _plan_text(answer: Answer) -> str:
    return dump_plan(answer.plan.called(answer.problem.labels))


def _report(
    answer: Answer,
    running: Answer | None,
    steps: Transition | None,
    trouble: str | None,
    simulation: SimulationReport | None,
    assumed: Sequence[str],
) -> str:
    return plan_report(
        answer.problem,
        answer.plan.called(answer.problem.labels),
        made_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=version("sliceplan"),
        running=None if running is None else running.plan,
        transition=steps,
        trouble=trouble,
        simulation=simulation,
        assumed=assumed,
    )
