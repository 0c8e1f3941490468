"""The cheapest fleet: which GPU types one would buy if there were as many of each as wanted."""

import pandas as pd
import streamlit as st

from sliceplan.app.charts.fleet_mix import mix_chart
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.what_if_calls import mix_of
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.labels import LABELS
from sliceplan.app.tables.what_if import candidate_table, candidates, mix_table
from sliceplan.app.widgets.job_progress import begin, show_failure
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import FleetEntry, Problem
from sliceplan.solver.model.sweep_report import FleetMix

PURPOSE = "mix"
CANDIDATES = Kept[tuple[Problem, pd.DataFrame]]("mix.candidates")


def show_mix(session: Session) -> None:
    """Draws the choice of GPU types, and what came of it last."""
    problem = session.problem
    if problem is None:
        st.info("Something in the tables is wrong: see *Services and fleet*.")
        return
    st.caption(
        "GPU types that your services have measurements on. Choose those that you could buy, and what an hour of them "
        "would cost you; how many there are today does not matter."
    )
    fleet = _chosen_fleet(session, problem)
    if st.button("Find the cheapest fleet", type="primary", disabled=not fleet, key="mix"):
        _begin(session, problem, fleet)
    found = session.results.get(PURPOSE)
    show_failure(found)
    if found is None or found.value is None:
        if PURPOSE not in session.open_jobs:
            st.info("You will see the cheapest mix, and what each type alone would cost beside it.")
        return
    warn_if_outdated(session, found.problem)
    _show(session, shown(session, found.problem, found.value))


def _chosen_fleet(session: Session, problem: Problem) -> list[FleetEntry]:
    kept = CANDIDATES.of(session)
    start = (
        kept[1]
        if kept is not None and kept[0] is problem
        else candidate_table(problem, [*known_profiles(), *problem.profiles])
    )
    key = f"mix_candidates_{session.editor}"
    started = st.session_state.setdefault(f"{key}_start", start)
    column = st.column_config
    frame = st.data_editor(
        started,
        key=key,
        hide_index=True,
        disabled=["GPU", "sharing"],
        column_config={
            "try": column.CheckboxColumn("try", help="whether you could rent it"),
            "price per hour": column.NumberColumn(
                "price per hour",
                format="$%.2f",
                min_value=0.01,
                help=LABELS["fleet"]["price_per_hour"].meaning,
            ),
            "sharing": column.TextColumn("sharing", help=LABELS["fleet"]["sharing"].meaning),
        },
    )
    CANDIDATES.keep(session, (problem, frame))
    try:
        fleet = candidates(frame, problem)
    except InputError as error:
        for finding in error.findings:
            st.error(literal(str(finding)))
        return []
    if not fleet:
        st.warning("Choose at least one GPU type.")
    return fleet


def _begin(session: Session, problem: Problem, fleet: list[FleetEntry]) -> None:
    profiles = [profile for profile in known_profiles() if profile.gpu in {entry.gpu for entry in fleet}]
    try:
        job = shared_jobs().submit(
            session.user, "mix", f"{problem.name}: cheapest fleet", mix_of, problem, profiles, fleet
        )
    except TooManyJobsError as error:
        st.error(literal(str(error)))
        return
    # One search for the mix, and one for each type alone.
    begin(session, PURPOSE, job, problem, most_s=problem.settings.time_limit_s * (1 + len(fleet)))
    if PURPOSE in session.open_jobs:
        st.rerun()


def _show(session: Session, mix: FleetMix) -> None:
    if mix.cost_per_hour is None:
        proven = mix.status == "infeasible"
        st.header("No mix of these serves all services" if proven else "No mix was found that serves all services")
        st.warning(literal(mix.reason or "No plan was found."))
    else:
        gpus = ", ".join(f"{count:,} x {gpu}" for gpu, count in mix.gpus.items())
        st.header(f"Cheapest fleet: {gpus}, ${mix.cost_per_hour:,.2f} per hour")
        if mix.bound_per_hour is not None:
            st.caption(f"Proof: no mix of these costs less than ${mix.bound_per_hour:,.2f} per hour.")
    if mix.cost_per_hour is not None or any(single.cost_per_hour is not None for single in mix.single):
        show_picture(session, mix_chart(mix), "cheapest-fleet")
    show_table(mix_table(mix), "fleet_mix")
