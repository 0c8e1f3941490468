"""What the cost depends on most, at the prices of the present plan's partition sizes."""

import streamlit as st

from sliceplan.app.charts.tornado import tornado_chart
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.what_if_calls import SENSITIVITIES_S, sensitivities_of
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.session.shown import shown
from sliceplan.app.widgets.actions import offer_solve
from sliceplan.app.widgets.job_progress import begin, show_failure
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.sweep_report import Sensitivity, SensitivityReport
from sliceplan.solver.model.words import counted
from sliceplan.solver.what_if.points import used_profiles

PURPOSE = "sensitivities"
ASKED = Kept[tuple[Plan, float]]("sensitivities.asked")
CHANGE, MOST = Kept[int]("sensitivities.change"), Kept[int]("sensitivities.most")

PERCENT = (1, 5, 10, 20, 50)

LEAST_USD = 0.01
"""Per hour; smaller effects are counted and not drawn."""


def show_sensitivities(session: Session) -> None:
    """Draws the tornado chart of the answer that there is."""
    answer = session.answer
    if answer is None or not answer.plan.gpus:
        offer_solve(
            session,
            "Press Solve to see what the cost depends on most: each service's rate and SLO, and each GPU's price, "
            "a little lower and a little higher.",
            "sensitivity",
        )
        return
    warn_if_outdated(session, answer.problem)
    if answer.plan.prices is None:
        st.info(
            "Prices of partition sizes are known for plans of `exact` without partitions that are kept free; this one "
            "has none."
        )
        return
    by, number = st.columns(2)
    percent = by.select_slider(
        "Change by, %", PERCENT, CHANGE.of(session, 10), key=f"sensitivities_by_{session.editor}"
    )
    most = number.slider("Rows", 5, 40, MOST.of(session, 15), key=f"sensitivities_most_{session.editor}")
    CHANGE.keep(session, percent)
    MOST.keep(session, most)
    _ask(session, answer, percent / 100)
    found = session.results.get(PURPOSE)
    show_failure(found)
    if found is None or found.value is None:
        return
    known: SensitivityReport = found.value
    if known.not_reached:
        st.warning(_not_reached(known, len(answer.problem.workloads), found.was_cancelled))
    effects: tuple[Sensitivity, ...] = tuple(shown(session, answer.problem, one) for one in known.found)
    telling = [one for one in effects if one.effect >= LEAST_USD]
    if telling:
        st.header(f"What {percent} % less or more would change, the greatest first")
        show_picture(session, tornado_chart(telling[:most], percent / 100), "sensitivities")
        said = f"The {min(most, len(telling)):,} greatest of {len(telling):,} effects, each change by itself."
    elif effects:
        said = "No change of this size makes a difference."
    else:
        return
    small = len(effects) - len(telling)
    others = f" {small:,} more make less than a cent per hour." if telling and small else ""
    st.caption(
        f"{said}{others} Effects are marginal: priced by the present plan's partition sizes, which holds for "
        "changes that are small beside the fleet and leaves out that GPUs come whole. A GPU's price is changed under "
        "the present plan. For the exact cost of a change use the sliders or a sweep."
    )


def _not_reached(known: SensitivityReport, services: int, was_cancelled: bool) -> str:
    """Returns which changes there was no time for, as Markdown."""
    kinds = {"price": "prices of GPUs", "rate": f"rates of {counted(services, 'service')}", "slo": "their SLOs"}
    missing = " and ".join(kinds[one] for one in known.not_reached)
    when = "before it was stopped" if was_cancelled else f"within {SENSITIVITIES_S:g} s"
    return f"Not reached {when}: {missing}. They are left out below."


def _ask(session: Session, answer: Answer, change: float) -> None:
    asked = ASKED.of(session)
    if asked is not None and asked[0] is answer.plan and asked[1] == change:
        return
    profiles = used_profiles(answer.problem, known_profiles())
    try:
        job = shared_jobs().submit(
            session.user,
            PURPOSE,
            f"{answer.problem.name}: sensitivities",
            sensitivities_of,
            answer.problem,
            answer.plan,
            profiles,
            change,
        )
    except TooManyJobsError as error:
        st.error(literal(str(error)))
        return
    ASKED.keep(session, (answer.plan, change))
    session.results.pop(PURPOSE, None)
    begin(session, PURPOSE, job, answer.problem)
    if PURPOSE in session.open_jobs:
        st.rerun()
