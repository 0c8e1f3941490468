"""The planners side by side, against the best bound that any of them proved; and what services cost."""

import json
from functools import partial

import streamlit as st

from sliceplan.app.jobs.comparing import SEARCH_S
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Session, take_answer
from sliceplan.app.session.shown import shown
from sliceplan.app.tables import comparison as tables
from sliceplan.app.tables.labels import settings_in_words
from sliceplan.app.tables.promise import requests_in_time
from sliceplan.app.widgets.actions import offer_compare
from sliceplan.app.widgets.comparing import LIMIT, PLANNERS, NotReadyError, compare_now, known_planners
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.job_progress import show_failure
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.simulation import usual_simulation_of
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal
from sliceplan.solver.comparison.ranking import best_first
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.differences.plans import PlanDifference, difference
from sliceplan.solver.formats.labelled import labelled
from sliceplan.solver.model.objective import COST
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.proving import proving_planner
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.planners.facts import PlannerFacts
from sliceplan.solver.wording.planner_words import plain_and_own_name, plain_name
from sliceplan.solver.wording.reasons import shared_reasons
from sliceplan.solver.wording.what_is_proven import plans_for_no_percentile, summary_and_what_of

from .first_look import begin_first_look, offer_the_rest
from .late_plans import show_late_plans
from .learned import show_learned
from .on_cores import show_on_cores
from .pictures import show_pictures
from .rows_so_far import show_rows_so_far
from .slice_prices import show_prices
from .standing import standing

ROW = Kept[str | None]("compare.row")

FOLDED = (
    "requests in time",
    "by BDA",
    "GPUs",
    "per month",
    "time (s)",
    "whose rules",
    "planner",
)
"""Columns that a phone has behind "More"."""

DOES_PX = 170
"""Of what a planner does, in which the longest is read."""

REQUESTS_IN_TIME_PX = 330
"""The last column that is seen at once where the page is 1,280 px wide: the next one would begin there, and be cut."""

CARDS_AT_ONCE = 3
"""Planners that a phone shows at first, the cheapest that hold."""

MOST_LETTERS = 400
"""Of what is said of a failure; the file has all of it."""

MOST_REASONS = 3
"""Reasons of a planner that the comparison shows for having no plan."""

SHOWN = Kept[str]("compare.shown")
"""The planner whose plan is looked at."""

LONGEST_S = 86_400.0


def show(session: Session) -> None:
    """Draws the screen."""
    st.caption(
        "The same services planned by other planners, published ones and simple ones: what each plan costs, against "
        "the least that any plan can cost."
    )
    show_failure(session.results.get("compare"))
    planners_tab, prices_tab, learned_tab, cores_tab = st.tabs(
        ["Planners", "Prices", "Learned scheduler", "Layers on cores"], key="compare_tab", on_change="rerun"
    )
    with planners_tab:
        facts = _choose(session)
        if begin_first_look(session, facts):
            st.rerun()  # the sidebar was drawn before there was this job to watch, or its answer
        if "compare" in session.open_jobs:
            show_rows_so_far(session)
        elif session.comparison is None and "solve" in session.open_jobs:
            st.info("The comparison begins as soon as the plan is found.")
        elif session.comparison is None:
            offer_compare(
                session,
                "Press Compare to set published planners against the proven optimum: how much more each one's plan "
                "costs, how long it takes, where the money goes, and whether the plan holds.",
                "compare",
            )
        else:
            _show_comparison(session, *session.comparison, facts)
    with prices_tab:
        show_prices(session)
    if learned_tab.open:
        with learned_tab:
            show_learned(session)
    if cores_tab.open:
        with cores_tab:
            show_on_cores(session)


def _choose(session: Session) -> dict[str, PlannerFacts]:
    """Lets the user choose what a comparison runs; returns what is known of the planners, by name."""
    try:
        facts = {one.name: one for one in known_planners()}
    except NotReadyError as error:
        st.error(literal(str(error)))
        return {}
    problem = session.problem
    able = [name for name, one in facts.items() if problem is None or one.plans(problem)]
    with st.expander("Which planners run, and for how long"):
        kept = PLANNERS.of(session)
        chosen = st.multiselect(
            "Planners",
            able,
            default=able if kept is None else [name for name in kept if name in able],
            key=f"planners_{session.editor}",
            help="Those that can plan for this fleet. Without exact there may be no bound to measure the others by.",
        )
        PLANNERS.keep(session, None if chosen == able else tuple(chosen))
        default = problem.settings.time_limit_s if problem else 30.0
        limit = st.number_input(
            "Time limit for each planner (s)",
            min_value=0.1,
            max_value=LONGEST_S,
            value=float(LIMIT.of(session) or default),
            step=5.0,
            key=f"limit_{session.editor}",
            help="Heuristics end within it anyway; a search that it ends gives its best plan and bound until then. "
            f"migserving-slow, whose search has no end of its own, gets {SEARCH_S:g} s of it unless you change it.",
        )
        LIMIT.keep(session, None if limit == default else limit)
        if left_out := [name for name in facts if name not in able]:
            st.caption(f"These cannot plan for this fleet: {', '.join(left_out)}.")
        ready = problem is not None and bool(chosen)
        if st.button("Compare these", disabled=not ready, key="compare_these") and problem:
            compare_now(session, problem)
            st.rerun()
        if not chosen:
            st.caption("Choose at least one planner.")
    return facts


def _show_comparison(session: Session, problem: Problem, asked: Comparison, facts: dict[str, PlannerFacts]) -> None:
    warn_if_outdated(session, problem, "compare again")
    compared = made_once("compare.ranked", (asked,), lambda: best_first(asked))
    seen = shown(session, problem, compared)
    exact = next((plan for plan in seen.plans if plan.planner == proving_planner(problem) and plan.gpus), None)
    differences = made_once("compare.differences", (exact,), lambda: _differences(seen, exact))
    st.header(literal(_proven(compared)))
    if said := standing(compared):
        st.markdown(said)
    simulated = {
        plan.planner: found
        for plan in compared.plans
        if (found := usual_simulation_of(session, problem, plan)) is not None
    }
    if any(plans_for_no_percentile(plan) for plan in compared.plans):
        st.caption(_late_requests(simulated))
    offer_the_rest(session, problem, compared, facts)
    _show_trouble(compared)
    if compared.not_run:
        st.warning(f"Stopped before their turn: {', '.join(compared.not_run)}.")
    show_pictures(session, problem, compared)
    show_late_plans(seen)
    chosen = _table(compared, simulated)
    _reasons(seen)
    _one_planner(session, problem, compared, differences, facts, chosen)
    offer_file(
        "Download comparison (JSON)",
        lambda: _json_text(problem, asked),
        problem.name,
        "comparison.json",
        key="comparison_json",
        width="content",
        help_text="as `sliceplan compare --json` writes it",
    )


def _late_requests(simulated: dict[str, SimulationReport]) -> str:
    """Returns what is known of late requests where plans were not made for them, as Markdown."""
    found = [f"for *{literal(plain_name(name))}* {_simulated(report)}" for name, report in simulated.items()]
    known = (
        f"*Will it hold?* found {'; '.join(found)}"
        if found
        else "*Will it hold?* says how many are, for the plan at hand"
    )
    return (
        f"These plans keep every batch fast enough, but requests that wait may still be late. {known}; to plan for "
        "99 % in time, change the settings on *Services and fleet*."
    )


def _simulated(report: SimulationReport) -> str:
    least = min((one.in_time for one in report.services if one.in_time is not None), default=None)
    said = f"that {requests_in_time(report)}"
    return said if least is None or report.holds == "yes" else f"{said}, the worst {100 * least:.1f} %"


def _json_text(problem: Problem, compared: Comparison) -> str:
    data = labelled({"problem": problem.name, **compared.as_data()}, problem.labels)
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _proven(compared: Comparison) -> str:
    return "Proven: no plan exists for this problem" if compared.no_plan_exists else compared.proven_in_words


def _show_trouble(compared: Comparison) -> None:
    """Says what went wrong in sliceplan itself, and that the rest stands."""
    lines = [f"- **{one.planner} failed**: {literal(_shortened(one.message))}" for one in compared.failures]
    lines += [
        f"- **{one.claimed_by} is disputed**: it {literal(one.message)}. Its claim is not used."
        for one in compared.disputes.values()
    ]
    if compared.why_no_services:
        lines.append(f"- **What services cost** is not known: {literal(_shortened(compared.why_no_services))}")
    if lines:
        st.error("\n".join(["Your input is not at fault: please report this. The other rows are valid.", "", *lines]))


def _shortened(message: str) -> str:
    return message if len(message) <= MOST_LETTERS else f"{message[:MOST_LETTERS]}…"


def _differences(compared: Comparison, exact: Plan | None) -> dict[str, PlanDifference]:
    if exact is None:
        return {}
    return {
        plan.planner: difference(exact, plan, with_nodes=False)
        for plan in compared.plans
        if plan.gpus and plan is not exact
    }


def _table(compared: Comparison, simulated: dict[str, SimulationReport]) -> str | None:
    """Shows the table; returns the planner of the row that is chosen in it."""
    column = st.column_config
    percent = partial(column.NumberColumn, format="%.1f %%")
    chosen = show_table(
        tables.comparison_table(compared, simulated),
        "planners_table",
        columns={
            "what it does": column.TextColumn("what it does", width=DOES_PX),
            "cost per hour": column.NumberColumn("cost per hour", format="$%.2f"),
            "per month": column.NumberColumn("per month", format="dollar", help="of 730 hours"),
            "could carry": column.NumberColumn(
                "could carry", format="%.3f", help=f"within the SLOs, all together: {compared.objective.unit}"
            ),
            "by BDA": percent(
                "by BDA", help="how much more its shares under MPS could carry with batches and shares chosen anew"
            ),
            "gap": percent(
                "above the least" if compared.objective == COST else "below the most",
                help=f"{compared.objective.name} against what is proven that no plan can be better than",
            ),
            "requests in time": column.TextColumn(
                "requests in time",
                width=REQUESTS_IN_TIME_PX,
                help="What a plan promises of requests that wait. Not planned for: the plan limits how long a batch "
                "executes, so some requests may be late; Will it hold? says how many, for the plan at hand. Services "
                "late: their latency, predicted with all interference, is above their limit, the worst by so much.",
            ),
            "time (s)": column.NumberColumn("time (s)", format="%.3f"),
        },
        folded=FOLDED,
        at_once=CARDS_AT_ONCE,
        placeholder="",
        height="content",
        key="planners_table",
        on_select="rerun",
        selection_mode="single-row",
    )
    rows = chosen["selection"]["rows"]
    return compared.rows[rows[0]].planner if rows and rows[0] < len(compared.rows) else None


def _reasons(compared: Comparison) -> None:
    """Says why planners have no plan, those with the same reasons together."""
    without = sum(bool(plan.unserved) for plan in compared.plans)
    if not without:
        return
    with st.expander(f"Why {without} planner{'s have' if without > 1 else ' has'} no plan"):
        for planners, status, found in shared_reasons(compared.plans):
            more = len(found) - MOST_REASONS
            lines = [listed(map(settings_in_words, found[:MOST_REASONS]))]
            lines += [f"- … and {more} more reasons"] if more > 0 else []
            st.markdown("\n".join([f"**{', '.join(planners)}**: {tables.VERDICTS[status]}", "", *lines]))
        st.caption("Unless it is proven that no plan exists, another planner may find one.")


def _one_planner(
    session: Session,
    problem: Problem,
    compared: Comparison,
    differences: dict[str, PlanDifference],
    facts: dict[str, PlannerFacts],
    chosen: str | None,
) -> None:
    """Shows one planner: what it is, where its plan differs from the exact one; offers its plan as the answer."""
    plans = {plan.planner: plan for plan in compared.plans}
    names = [row.planner for row in compared.rows]
    if chosen is not None and ROW.of(session) != chosen:
        SHOWN.keep(session, chosen)
        session.editor += 1
    ROW.keep(session, chosen)
    kept = SHOWN.of(session)
    at = names.index(kept) if kept in names else min(1, len(names) - 1)
    name = st.selectbox(
        "Look at one planner (or choose its row above)",
        names,
        index=at,
        format_func=plain_and_own_name,
        key=f"shown_planner_{session.editor}",
    )
    SHOWN.keep(session, name)
    plan = plans.get(name)
    with st.container(border=True):
        if plan is None:
            st.markdown(f"**{literal(plain_name(name))}** failed; what went wrong stands above.")
            return
        said = summary_and_what_of(plan, compared.gap_to_bound(plan))
        st.markdown(f"**{literal(plain_name(name))}**: {literal(said)}")
        if name in facts:
            own = " It predicts latencies by a model of its own." if facts[name].own_model else ""
            st.caption(f"{facts[name].source}.{own}")
        answer = session.answer
        is_taken = answer is not None and answer.plan is plan
        if st.button("Use its plan", disabled=not plan.gpus or is_taken, key="use_plan", help=USE):
            take_answer(session, Answer(problem, plan))
            st.rerun()
        if is_taken:
            st.caption("This is the plan that the other screens show.")
        _where_it_differs(name, differences.get(name))


USE = "Makes it the plan that the other screens show and download."


def _where_it_differs(name: str, differs: PlanDifference | None) -> None:
    if differs is None:
        return
    if not differs.moved and not differs.partitions:
        st.caption("It divides the GPUs as the exact plan does, and places every service the same way.")
        return
    has = "service has" if len(differs.moved) == 1 else "services have"
    st.markdown(f"Against the exact plan: **{len(differs.moved)}** {has} other partitions.")
    with st.expander("Which partitions differ, and which services are on them"):
        show_table(tables.partition_table(differs, name), "other_partitions", titles=2, key="other_partitions")
        if differs.moved:
            show_table(tables.moved_table(differs, name), "moved_services", key="moved_services")
