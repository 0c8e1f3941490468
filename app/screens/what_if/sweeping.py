"""Sweeps on the page: what varies, the curve as its points arrive, its steps and who forces them."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from sliceplan.app.charts.sweep_curve import sweep_chart
from sliceplan.app.jobs.jobs import TooManyJobsError, UnknownJobError, shared_jobs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.what_if import step_table
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.job_progress import begin, show_failure
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.formats.sweep_files import sweep_csv
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.judged import objective_of, weights_of
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.sweep_report import Axis, SweepReport
from sliceplan.solver.what_if.changes import applied, description
from sliceplan.solver.what_if.points import Sweep

from .axis_choice import axes_of, chosen_axis
from .keeping import offer_saving
from .state import changes_of

PURPOSE = "sweep"
SWEPT = Kept["Swept"]("sweep.swept")
TWO = Kept[bool]("sweep.two")
CHANGED = Kept[bool]("sweep.changed")

REFUSED = Kept[str]("sweep.refused")
"""Where the session keeps for one run why a press began nothing."""

FIRST_S = 0.2
"""So long a click waits for a short sweep to end, and a picture for its first point."""

POLL_S = 0.5


@dataclass(frozen=True)
class Swept:
    """The sweep that was begun last."""

    problem: Problem
    axes: tuple[Axis, ...]
    about: str
    """What was swept, in words."""


def show_sweep(session: Session) -> None:
    """Draws the choice of axes, and the sweep that runs or ran last."""
    problem = session.problem
    if problem is None:
        st.info("Something in the tables is wrong: see *Services and fleet*.")
        return
    axes = _choose(session, problem)
    show_failure(session.results.get(PURPOSE))
    swept: Swept | None = SWEPT.of(session)
    if swept is None:
        st.info(
            "A sweep plans the fleet at every value of a range. You will see what the fleet costs over it, how close "
            "the proof comes, at which value the next GPU is needed, and which service forces it."
            if weights_of(problem) is None
            else "A sweep plans the fleet at every value of a range. You will see what these GPUs could carry over it, "
            "and how close the proof comes."
        )
        if axes is not None:
            seen = tuple(shown(session, problem, axis) for axis in axes)
            show_picture(session, sweep_chart(seen, (), objective=objective_of(weights_of(problem))), "cost-curve")
        return
    if PURPOSE in session.open_jobs:
        _watch(session, swept)
    else:
        _show_report(session, swept)


def _choose(session: Session, problem: Problem) -> tuple[Axis, ...] | None:
    """Lets the user choose what varies and begin; returns the axes, None if they are wrong."""
    changes = changes_of(session, problem)
    if not changes.is_empty:
        on = st.toggle(
            f"Sweep the what-if ({literal(description(shown(session, problem, changes)))}), not the problem as it is",
            value=CHANGED.of(session, True),
            key=f"sweep_changed_{session.editor}",
        )
        CHANGED.keep(session, on)
    texts = [chosen_axis(session, problem, 0)]
    two = st.toggle("Vary a second thing too", value=TWO.of(session, False), key=f"sweep_two_{session.editor}")
    TWO.keep(session, two)
    if two:
        texts.append(chosen_axis(session, problem, 1))
    is_changed = not changes.is_empty and CHANGED.of(session, True)
    try:
        base = applied(problem, changes) if is_changed else problem
        axes = axes_of(texts, base)
    except InputError as error:
        for finding in error.findings:
            st.error(literal(f"{finding.path} {finding.message}"))
        st.button("Sweep", type="primary", disabled=True, key="sweep")
        return None
    sweep = Sweep(base, known_profiles(), axes)
    button, words = st.columns([1, 3], vertical_alignment="center")
    sizes = f": {' x '.join(map(str, sweep.sizes))}" if len(sweep.sizes) > 1 else ""
    words.caption(f"{sweep.points:,} point{'' if sweep.points == 1 else 's'}{sizes}")
    about = description(shown(session, problem, changes)) if is_changed else ""
    # In a callback it begins before the page is drawn, which takes a moment.
    button.button("Sweep", type="primary", key="sweep", width="stretch", on_click=_begin, args=(session, sweep, about))
    if refused := REFUSED.taken(session):
        st.error(literal(refused))
    return axes


def _begin(session: Session, sweep: Sweep, about: str) -> None:
    try:
        job = shared_jobs().submit_sweep(session.user, sweep)
    except TooManyJobsError as error:
        REFUSED.keep(session, str(error))
        return
    SWEPT.keep(session, Swept(sweep.problem, sweep.axes, about))
    session.results.pop(PURPOSE, None)
    begin(session, PURPOSE, job, sweep.problem, wait_s=FIRST_S)


@st.fragment(run_every=POLL_S)
def _watch(session: Session, swept: Swept) -> None:
    """Draws the points that there are, again and again; when the sweep has ended the whole page is drawn anew."""
    job = session.open_jobs.get(PURPOSE)
    if job is None:
        return
    try:
        points = shared_jobs().points(job.id, FIRST_S)
    except UnknownJobError:
        return
    if not points:
        st.caption("The first points are being worked out.")
        return
    weights = weights_of(swept.problem)
    axes = tuple(shown(session, swept.problem, axis) for axis in swept.axes)
    seen = tuple(shown(session, swept.problem, point) for point in points)
    show_picture(session, sweep_chart(axes, seen, objective=objective_of(weights)), "cost-curve")
    last = " What forces the steps comes last." if weights is None else ""
    st.caption(f"{len(points):,} points so far.{last}")


def _show_report(session: Session, swept: Swept) -> None:
    found = session.results.get(PURPOSE)
    report: SweepReport | None = None if found is None else found.value
    if found is None or report is None:
        return
    if session.problem is not None and session.is_outdated(swept.problem) and not swept.about:
        st.warning("The problem was changed since. What is shown here answers the earlier one; sweep again.")
    if swept.about:
        st.caption(f"Swept: the what-if with {literal(swept.about)}.")
    if report.missing:
        st.info(f"{len(report.points):,} of {len(report.points) + report.missing:,} points; the sweep was ended early.")
    seen = shown(session, found.problem, report)
    picture = sweep_chart(seen.axes, seen.points, seen.steps, objective=report.objective)
    show_picture(session, picture, "cost-curve")
    st.caption(_how_good(report))
    _show_steps(seen)
    as_csv, as_json, saving = st.columns(3)
    name = swept.problem.name
    offer_file(
        "Download points (CSV)",
        partial(sweep_csv, report),
        name,
        "sweep.csv",
        key="sweep_csv",
        place=as_csv,
        width="content",
    )
    offer_file(
        "Download sweep (JSON)",
        lambda: report.model_dump_json(indent=1) + "\n",
        name,
        "sweep.json",
        key="sweep_json",
        place=as_json,
        width="content",
    )
    with saving:
        offer_saving(session, report)


def _show_steps(report: SweepReport) -> None:
    if not report.steps:
        return
    st.header("What forces the steps")
    usd = st.column_config.NumberColumn("adds per hour", format="$%.2f")
    show_table(step_table(report), "sweep_steps", columns={"adds per hour": usd}, titles=2, at_once=4)
    st.caption(
        "Each row is a rise of the cost between two neighbouring values. A service forces it alone if its own change "
        "already costs more than the cheaper plan; with +, only these changes together do."
    )


def _how_good(report: SweepReport) -> str:
    objective = report.objective
    with_plan = [point for point in report.points if point.value(objective) is not None]
    proven = sum(point.status == "optimal" for point in with_plan)
    words = f"{proven:,} of {len(report.points):,} points are proven {objective.best}."
    gaps = [point.gap for point in with_plan if point.gap is not None]
    if gaps and proven < len(with_plan):
        words += f" The others are {objective.gap_in_words(max(gaps))}."
    if none := len(report.points) - len(with_plan):
        words += f" {none:,} have no plan; point at a cross for the reason."
    return words
