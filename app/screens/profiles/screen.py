"""Profiles: what is known of a model on a GPU type, how well it fits, and what the plan's predictions rest on."""

from collections.abc import Callable
from typing import Literal, TypeVar

import streamlit as st

from sliceplan.app.charts.profile import (
    UNITS,
    Figure,
    batches_chart,
    batches_of,
    batches_surface,
    shares_chart,
    shares_surface,
    sizes_of,
)
from sliceplan.app.profiles.estimating import asked_in, missing
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.own_profiles import drop_profile, profiles_of
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import shown, shown_text
from sliceplan.app.tables.profile import coefficients_table, errors_table, evidence_table, points_table
from sliceplan.app.widgets.actions import offer_solve
from sliceplan.app.widgets.estimating import offer_estimates
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal
from sliceplan.app.widgets.words import meaning
from sliceplan.solver.formats.profile_files import profiles_yaml
from sliceplan.solver.metrics.caveats import CaveatKind, caveats
from sliceplan.solver.metrics.prediction_evidence import PredictionEvidence, prediction_evidence
from sliceplan.solver.model.lists import few
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.sharing import Sharing
from sliceplan.solver.model.words import counted
from sliceplan.solver.performance.odd_points import odd_points
from sliceplan.solver.wording.shown_names import shown_name

from .adding import add_profiles
from .choosing import choose_profile

T = TypeVar("T")

FIGURE = Kept["Figure"]("profiles.figure")

BATCHES_SHOWN = Kept[list[int]]("profiles.batches")

PROCESSES = Kept[int]("profiles.processes")

BATCHES = (1, 2, 4, 8, 16, 32)
"""Batch sizes of which the lines over the share are drawn at first."""

MOST_LINES = 8

FEW_FITS = 4
"""Rows that are shown at once; more are folded, below a sentence on all of them."""

ERRORS = ("median", "p95", "max")


def show(session: Session) -> None:
    """Draws the screen."""
    st.caption(
        "How fast a model is on a GPU type, by partition, batch size and processes: what every prediction comes from."
    )
    _show_missing(session)
    choice, adding = st.columns([3, 1], vertical_alignment="bottom")
    with choice:
        profile = choose_profile(session)
    with adding:
        _offer_adding(session)
    _show_own(session)
    marks = _evidence(session)
    own = [mark for mark in marks if (mark.model, mark.gpu) == (profile.model, profile.gpu)]
    this, rests = st.tabs(["This profile", "What the plan rests on"])
    with this:
        _show_profile(session, profile, own)
    with rests:
        _show_evidence(session, marks)


def _offer_adding(session: Session) -> None:
    kind: Literal["primary", "secondary"] = "secondary" if session.tables.profiles else "primary"
    if st.button("Add profiles of your own", key="add_profiles", type=kind):
        add_profiles(session)


def _show_own(session: Session) -> None:
    """Draws the profiles of one's own that the problem has, if any."""
    own = session.tables.profiles
    if not own:
        return
    with st.expander(f"{counted(len(own), 'profile')} of your own, part of {literal(session.tables.name)}"):
        for profile in own:
            said, drop = st.columns([4, 1], vertical_alignment="center")
            said.markdown(literal(f"{profile.model} on {profile.gpu}: {profile.quality}, {profile.provenance.source}"))
            what = f"Remove {profile.model} on {profile.gpu}"
            # By what it removes: a row's number is the next row's before the browser has drawn that one is gone.
            key = f"drop_{profile.model}_{profile.gpu}"
            drop.button("Remove", key=key, help=what, on_click=drop_profile, args=(session, profile))
        offer_file(
            "Your profiles as YAML",
            lambda: profiles_yaml(own),
            session.tables.name,
            "profiles.yaml",
            key="own_yaml",
            width="content",
        )


def _show_missing(session: Session) -> None:
    """Says of which models nothing is known on which GPU types of the fleet, and offers to estimate it."""
    unknown = missing(asked_in(session.tables.fleet, session.tables.workloads), profiles_of(session))
    if not unknown:
        return
    lines = [f"{gpu}: nothing is known of {few(models)}" for gpu, models in unknown.items()]
    st.markdown(listed(lines))
    offer_estimates(session, unknown)


def _evidence(session: Session) -> list[PredictionEvidence]:
    answer = session.answer
    if answer is None:
        return []
    problem, plan = shown(session, answer.problem, answer.problem), shown(session, answer.problem, answer.plan)
    return list(prediction_evidence(problem, plan, profiles_of(session)))


def _show_profile(session: Session, profile: Profile, marks: list[PredictionEvidence]) -> None:
    if session.answer is None:
        offer_solve(session, "Press Solve to see, as stars, where the plan uses this profile.", "profile")
    if sizes_of(profile):
        _show_instances(session, profile, marks)
    if profile.interference is not None or profile.share_points:
        _show_shares(session, profile, marks)
    _say_what_is_drawn(session, profile, marks)
    st.header("Where the numbers come from")
    st.markdown(_in_words(profile))
    with st.expander("How they were obtained"):
        st.markdown(profile.provenance.method)
    _show_errors(profile)
    with st.expander("All operating points"):
        show_table(
            points_table(profile),
            "profile_facts",
            columns={
                name: st.column_config.NumberColumn(name, format="%.1f")
                for name in ("latency (ms)", "throughput (req/s)")
            },
        )
    if profile.interference is not None:
        with st.expander("Coefficients of the model of interference"):
            table = coefficients_table(profile.interference.gpu, profile.interference.model)
            show_table(table, "profile_facts_other")


def _say_what_is_drawn(session: Session, profile: Profile, marks: list[PredictionEvidence]) -> None:
    used = "a star is where the plan uses it"
    if session.answer is not None and not marks:
        used = "there is no star, as the plan does not use this profile"
    said = f"{_lines_and_dots(profile)}; {used}."
    if _slos_ms(session, profile):
        said += (
            " The dashed line is the SLO. A request first waits, then its batch runs, and both together keep the SLO: "
            "so the plan stays below it."
        )
    st.caption(said)


def _lines_and_dots(profile: Profile) -> str:
    """Returns what lines are, and where the measurements are that one looks for beside them."""
    if profile.quality == "estimated":
        return "Lines are estimated; nothing was measured on this GPU type"
    if profile.points:
        return "Lines are fitted through measurements, dots are measurements"
    kept = "only those far from their line, which are crosses" if odd_points(profile) else "none of them: so no dots"
    return f"Lines are fitted through measurements; the profile keeps {kept}"


def _slos_ms(session: Session, profile: Profile) -> dict[str, float]:
    """Returns the SLOs of the services that use a profile's model, by what they are called."""
    problem = session.problem if session.answer is None else session.answer.problem
    if problem is None:
        return {}
    return {shown_name(one): one.slo_ms for one in problem.workloads if one.model == profile.model}


def _in_words(profile: Profile) -> str:
    facts = profile.provenance
    basis = {"measured": "measured", "fitted": "fitted to measurements", "estimated": "estimated"}[profile.quality]
    ways: tuple[Sharing, ...] = ("mig", "mps", "exclusive")
    origin = next((one for way in ways if (one := profile.estimate(way)) is not None), None)
    if origin is not None:
        added = f", {origin[1]:.0%} added to its times" if origin[1] else ""
        basis = f"estimated from {origin[0]} by roofline ratios{added}; nothing was measured on {profile.gpu}"
    rest = [f"licence {facts.licence}" if facts.licence else "", facts.date or ""]
    lines = [
        f"**{profile.model} on {profile.gpu}**: {basis}.",
        f"Source: {', '.join(part for part in (facts.source, *rest) if part)}.",
    ]
    return "\n\n".join(lines)


def _show_basis(profile: Profile, sharing: Sharing, *, measured: bool, fitted: bool) -> None:
    """Says in a badge, beside the curves, what they are; `measured`: there are dots, `fitted`: there are lines."""
    origin = profile.estimate(sharing)
    if origin is not None or profile.quality == "estimated":
        of = "" if origin is None else f" from {origin[0]}"
        st.badge(f"Estimated{of}, not measured here", color="orange", icon=":material/help:")
    elif fitted:
        error = profile.error if sharing == "mig" else None
        found = "" if error is None else f"{error.points:,} "
        within = "" if error is None else f", 95 % within {100 * error.p95:.1f} %"
        st.badge(f"Lines fitted to {found}measurements{within}", color="blue", icon=":material/timeline:")
    elif measured:
        st.badge("Measured", color="green", icon=":material/straighten:")


def _show_instances(session: Session, profile: Profile, marks: list[PredictionEvidence]) -> None:
    st.header("On MIG instances")
    _show_basis(profile, "mig", measured=any(profile.mig_points), fitted=bool(profile.curves))
    here = [mark for mark in marks if mark.mig_profile is not None]
    counts = sorted({curve.processes for curve in profile.curves} | {point.processes for point in profile.mig_points})
    used = [mark.processes for mark in here]
    usual = max(set(used), key=used.count) if used else counts[0]
    last = PROCESSES.of(session)
    key, note = _noted(session, PROCESSES, profile, usual)
    chosen = st.segmented_control(
        "Processes on the partition",
        counts,
        default=last if last in counts else usual,
        key=key,
        on_change=note,
        help="MPS processes of the model within one instance; the throughput is that of all of them together",
    )
    processes = usual if chosen is None else chosen
    left, right = st.columns(2, vertical_alignment="bottom")  # legends differ in height
    with left:
        chart = batches_chart(profile, processes, "latency", here, _slos_ms(session, profile))
        show_picture(session, chart, "profile-latency")
    with right:
        show_picture(session, batches_chart(profile, processes, "throughput", here), "profile-throughput")
    elsewhere = sum(mark.processes != processes for mark in here)
    if elsewhere:
        more = "1 more partition of the plan runs" if elsewhere == 1 else f"{elsewhere} more partitions of the plan run"
        st.caption(f"{more} another number of processes.")
    figure = _choose_figure(session, "mig")
    surface = batches_surface(profile, processes, figure, here)
    show_picture(session, surface, "profile-surface")
    if any("" in row for row in surface.data[0].text):
        st.caption("Empty cells were not measured: the batch may not fit in memory there.")


def _show_shares(session: Session, profile: Profile, marks: list[PredictionEvidence]) -> None:
    st.header("At a share of the GPU")
    _show_basis(profile, "mps", measured=any(profile.share_points), fitted=profile.interference is not None)
    here = [mark for mark in marks if mark.sm_percent is not None]
    known = profile.interference
    options = batches_of(profile)
    used = sorted({mark.batch for mark in here if mark.batch in options})
    usual = (used or [batch for batch in BATCHES if batch in options])[:MOST_LINES]
    last = [batch for batch in BATCHES_SHOWN.of(session, []) if batch in options]
    key, note = _noted(session, BATCHES_SHOWN, profile, usual)
    batches = st.multiselect(
        "Batch sizes", options, default=last or usual, key=key, on_change=note, max_selections=MOST_LINES
    )
    if known is not None:
        extent = known.measured
        st.caption(
            f"Shares of {extent.min_percent:g} to {extent.max_percent:g} % and batches of "
            f"{extent.min_batch} to {extent.max_batch}; dashed lines extrapolate. Lines are the model alone on its "
            "GPU; stars stand beside their neighbours in the plan, so they lie above."
        )
    left, right = st.columns(2, vertical_alignment="bottom")  # legends differ in height
    with left:
        chart = shares_chart(profile, batches, "latency", here, _slos_ms(session, profile))
        show_picture(session, chart, "profile-share-latency")
    with right:
        show_picture(session, shares_chart(profile, batches, "throughput", here), "profile-share-throughput")
    if known is not None:
        figure = _choose_figure(session, "mps")
        show_picture(session, shares_surface(profile, figure, here), "profile-share-surface")


def _noted(session: Session, kept: Kept[T], profile: Profile, usual: T) -> tuple[str, Callable[[], None]]:
    """
    Returns a choice's key, and what keeps it when it is changed; emptied, it is the usual one.

    Another plan can have another usual one: with its own key that is shown, unless somebody chose.
    """
    key = f"{kept.name}_{profile.model}_{profile.gpu}_{usual}"

    def note() -> None:
        kept.keep(session, st.session_state[key] or usual)

    return key, note


def _choose_figure(session: Session, where: str) -> Figure:
    names: tuple[Figure, ...] = ("throughput", "latency")
    last: Figure = FIGURE.of(session, names[0])
    chosen = st.segmented_control(
        "In figures", names, default=last, format_func=UNITS.__getitem__, key=f"profile_figure_{where}"
    )
    FIGURE.keep(session, chosen or last)
    return chosen or last


def _show_errors(profile: Profile) -> None:
    table = errors_table(profile)
    st.header("How well it fits")
    if table.empty:
        st.markdown("Nothing is fitted; the points are used as measured.")
    else:
        percent = {name: st.column_config.NumberColumn(name, format="%.1f %%") for name in ERRORS}
        if (error := profile.error) is not None:
            st.markdown(
                f"Of {error.points:,} measured points half are within {100 * error.median:.1f} % of their line, 95 % "
                f"within {100 * error.p95:.1f} %, and all within {100 * error.max:.1f} %."
            )
        with st.expander("Fit by fit", expanded=len(table) <= FEW_FITS):
            show_table(table, "fit_errors", columns=percent)
            st.caption("Relative error |fitted / measured - 1| against the points that were fitted to.")
    if profile.odd_points:
        with st.expander(f"{len(profile.odd_points)} measured points that the curves miss by far"):
            st.markdown("\n".join(f"- {odd}" for odd in profile.odd_points))


def _show_evidence(session: Session, marks: list[PredictionEvidence]) -> None:
    answer = session.answer
    if answer is None or not marks:
        offer_solve(
            session,
            "Press Solve to see, for each service, what its prediction rests on: measured, fitted or estimated, and "
            "where it goes beyond what was measured.",
            "rests_on",
        )
        return
    warn_if_outdated(session, answer.problem)
    beyond = [mark for mark in marks if mark.beyond]
    estimated = sum(mark.basis == "estimated" for mark in marks)
    all_of, outside, carried = st.columns(3)
    all_of.metric("Operating points", len(marks), help="partitions of the plan that serve something")
    outside.metric("Extrapolate", len(beyond), help="batch size or share outside the measured range")
    carried.metric("Estimated", estimated, help=meaning("estimated"))
    if beyond:
        st.header("Where the plan extrapolates")
        table = evidence_table(beyond)[["service", "model", "GPU", "batch", "partition", "extrapolates to"]]
        show_table(table, "extrapolations")
    else:
        st.success("No prediction goes beyond the measured batch sizes and shares.")
    known = caveats(answer.problem, answer.plan, profiles_of(session))
    in_the_table = {caveat.text for caveat in known if caveat.kind is CaveatKind.EXTRAPOLATED}
    if other := [warning for warning in answer.plan.warnings if warning not in in_the_table]:
        st.markdown(listed(shown_text(session, answer.problem, warning) for warning in other))
    st.header("All profiles")
    show_table(
        evidence_table(marks),
        "operating_points",
        columns={"latency (ms)": st.column_config.NumberColumn("latency (ms)", format="%.1f")},
    )
