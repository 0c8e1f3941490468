"""The plan: what it costs and how good that is in words, the fleet as a picture, latency budgets, and its tables."""

import streamlit as st

from sliceplan.app.charts.latency_budget import budget_chart, worst_first
from sliceplan.app.charts.service_loads import fullest_first, grows_least, load_chart
from sliceplan.app.charts.shades import COLOUR_BY, ColourBy
from sliceplan.app.screens.plan.downloads import offer_plan
from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.labels import SETTINGS
from sliceplan.app.tables.plan import GpuFilter, gpu_table, service_table
from sliceplan.app.tables.warnings import warnings_in_words
from sliceplan.app.tables.without_sharing import without_sharing
from sliceplan.app.widgets.actions import offer_solve
from sliceplan.app.widgets.choosing import choose_one, choose_some, choose_whether
from sliceplan.app.widgets.improving import plan_so_far, show_that_it_improves
from sliceplan.app.widgets.job_progress import offer_stop, show_failure
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal
from sliceplan.solver.metrics.caveats import CaveatKind, caveats
from sliceplan.solver.metrics.service_figures import ServiceFigures, service_figures
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.latency_rules.rules import part_of_slo
from sliceplan.solver.wording.plain_words import in_plain_words

from .fleet_view import show_fleet
from .headline import show_headline
from .improvement import show_improvement
from .next_questions import show_next_questions
from .rounds_view import show_rounds
from .worth import show_worth

FLEET, BUDGETS, LOADS, SERVICES, GPUS = "Fleet", "Latency budgets", "Rate and capacity", "Services", "GPUs"
MOST_WARNINGS = 40


def show(session: Session) -> None:
    """Draws the screen."""
    improving = plan_so_far(session)
    if improving is not None:
        problem, found = improving
        show_that_it_improves(found)
        offer_stop(session, "solve", "stop_improving")
        _show_plan(session, problem, found.plan, goes_on=True)
        return
    show_failure(session.results.get("solve"))
    answer = session.answer
    if answer is None:
        offer_solve(
            session,
            "Press Solve to see the best plan: what to rent and what it costs, how good that is proven to be, and "
            "each GPU's partitions as a picture, with the figures of every service on hover.",
            "plan",
        )
        return
    _show_plan(session, answer.problem, answer.plan)


def _show_plan(session: Session, problem: Problem, plan: Plan, *, goes_on: bool = False) -> None:
    """Draws a plan; `goes_on`: a search is improving it, so that it is not offered to be taken away."""
    warn_if_outdated(session, problem)
    show_headline(session, problem, plan, goes_on)
    is_answer = not goes_on and session.answer is not None and session.answer.plan is plan
    # Planned by names: what people call services is no name.
    alone = None if goes_on or not plan.gpus else _alone(problem)
    kinds = made_once("plan.caveats", (problem, plan), lambda: _kinds(session, problem, plan))
    found = plan
    problem, plan = shown(session, problem, problem), shown(session, problem, plan)
    if not plan.gpus:
        st.markdown(literal(in_plain_words(problem, plan).limit))
        return
    show_worth(problem, plan, goes_on, alone)
    show_improvement(session, found, goes_on=goes_on)
    _show_warnings(plan, kinds)
    if is_answer and session.answer is not None:
        show_next_questions(session, session.answer)
    views, filters = st.columns([5, 2])
    with views:
        view = choose_one(session, "plan.view", "Show", (FLEET, BUDGETS, LOADS, SERVICES, GPUS), side_by_side=True)
    with filters.popover("Filter and colours" if view == FLEET else "Filter", key=f"plan_filter_{view}"):
        chosen, by = _choose(session, plan, with_colours=view == FLEET)
    _say_what_is_shown(chosen, by)
    gpus = chosen.gpus_of(plan)
    if not gpus:
        st.info("No GPU of the plan fits this choice. Remove a filter.")
    elif view == FLEET:
        show_fleet(session, problem, plan, chosen, by)
        show_rounds(session, problem, plan)
    elif view == BUDGETS:
        _show_budgets(session, problem, plan, chosen)
    elif view == LOADS:
        _show_loads(session, problem, plan, chosen)
    elif view == SERVICES:
        _show_services(problem, plan, chosen)
    else:
        _show_gpus(problem, plan, chosen)
    if goes_on:
        st.caption("Files, exports and the report appear here as soon as the search has ended or you have stopped it.")
    else:
        offer_plan(session)


def _alone(problem: Problem) -> Plan | None:
    return made_once("without_sharing", (problem,), lambda: without_sharing(problem))


def _kinds(session: Session, problem: Problem, plan: Plan) -> list[CaveatKind | None]:
    """Returns what each warning of a plan is about; None: something else than its predictions."""
    kind_of = {one.text: one.kind for one in caveats(problem, plan, profiles_of(session))} if plan.warnings else {}
    return [kind_of.get(text) for text in plan.warnings]


def _show_warnings(plan: Plan, kinds: list[CaveatKind | None]) -> None:
    if not plan.warnings:
        return
    with st.expander(f"How sure the predictions are: {warnings_in_words(kinds)}"):
        shown = plan.warnings[:MOST_WARNINGS]  # the gravest are first
        lines = [listed(shown)]
        if len(plan.warnings) > len(shown):
            lines.append(f"- … and {len(plan.warnings) - len(shown):,} more; the plan file has them all")
        st.markdown("\n".join(lines))


def _choose(session: Session, plan: Plan, *, with_colours: bool) -> tuple[GpuFilter, ColourBy]:
    """Lets the user choose what to look at; only what the plan has different values of is offered. And the colours."""
    names, nodes, types = made_once("plan.options", (plan,), lambda: _options(plan))
    by: ColourBy = COLOUR_BY[0]
    chosen_nodes: list[str] = []
    chosen_types: list[str] = []
    services = choose_some(
        session, "plan.services", "Services", names, "shows the GPUs where they run, and dims their neighbours"
    )
    if len(nodes) > 1:
        chosen_nodes = choose_some(session, "plan.nodes", "Nodes", nodes)
    if len(types) > 1:
        chosen_types = choose_some(session, "plan.types", "GPU types", types)
    if with_colours:
        by = choose_one(session, "plan.colour_by", "Colour by", COLOUR_BY)
    only_missed = bool(plan.violations) and choose_whether(session, "plan.missed", "Only missed SLOs")
    return GpuFilter(tuple(services), tuple(chosen_nodes), tuple(chosen_types), only_missed), by


def _say_what_is_shown(chosen: GpuFilter, by: ColourBy) -> None:
    """Says what was chosen out of sight; nothing where all is shown as at first."""
    said = [", ".join(some) for some in (chosen.services, chosen.nodes, chosen.types) if some]
    said += ["only missed SLOs"] * chosen.only_missed
    said += [f"coloured by {by}"] * (by != COLOUR_BY[0])
    if said:
        st.caption(literal(f"Shown: {'; '.join(said)}."))


def _options(plan: Plan) -> tuple[list[str], list[str], list[str]]:
    names = {served.workload for gpu in plan.gpus for part in gpu.partitions for served in part.serves}
    nodes = dict.fromkeys(gpu.node for gpu in plan.gpus if gpu.node is not None)
    return sorted(names), list(nodes), list(dict.fromkeys(gpu.gpu for gpu in plan.gpus))


def _show_budgets(session: Session, problem: Problem, plan: Plan, chosen: GpuFilter) -> None:
    running = chosen.services_of(plan)
    figures = worst_first(made_once("plan.figures", (problem, plan), lambda: service_figures(problem, plan)))
    figures = [one for one in figures if one.name in running]
    show_picture(session, budget_chart(_first(session, figures, "tightest")), "latency_budgets")
    settings = problem.settings
    part = part_of_slo(settings.latency, settings.slo_fraction)
    promise = SETTINGS["latency"].values[settings.latency]
    st.caption(
        f"Of each SLO, a batch may take {part:.0%} (promised: {promise}); the rest is kept for "
        "requests that wait for their batch or in the queue. A service's slowest partition counts. Where services "
        "share a GPU by MPS, colours show what neighbours add."
        + (" A batch is held until it is full or its oldest request must go." if settings.latency == "assembly" else "")
    )


def _first(session: Session, figures: list[ServiceFigures], which: str) -> list[ServiceFigures]:
    """Lets the user choose how many services of many are drawn; `which`: those that come first."""
    counts = [count for count in (10, 20, 50, 100) if count < len(figures)] or [10]
    most = counts[0]
    if len(figures) > counts[0]:
        most = choose_one(session, "plan.budgets", f"Services, of {len(figures):,}, the {which} first", counts)
    return figures[:most]


def _show_loads(session: Session, problem: Problem, plan: Plan, chosen: GpuFilter) -> None:
    running, headroom = chosen.services_of(plan), problem.settings.headroom
    figures = fullest_first(made_once("plan.figures", (problem, plan), lambda: service_figures(problem, plan)))
    figures = [one for one in figures if one.name in running]
    show_picture(session, load_chart(_first(session, figures, "fullest"), headroom), "rate_and_capacity")
    st.caption(
        "Requests/s beside the name, and in percent of what the service's partitions carry together. "
        + literal(_who_fails_first(figures, headroom))
    )


def _who_fails_first(figures: list[ServiceFigures], headroom: float) -> str:
    least = grows_least(figures, headroom)
    if least is None:
        return ""
    one, growth = least
    if growth < 0:
        return f"The rate of {one.name} is more than they carry."
    return (
        f"If all rates grow and nothing is moved, {one.name} fails first, beyond {growth:.1%} more. “How much more "
        "fits?”, above, says how far they can grow if the same GPUs are divided anew."
    )


def _show_services(problem: Problem, plan: Plan, chosen: GpuFilter) -> None:
    running = chosen.services_of(plan)
    figures = made_once("plan.figures", (problem, plan), lambda: service_figures(problem, plan))
    shown = [one for one in figures if not chosen.restricts or one.name in running]
    column = st.column_config
    show_table(
        # The views Latency budgets and GPUs show these two; without them the table fits beside the sidebar.
        service_table(shown).drop(columns=["may take (ms)", "GPUs"], errors="ignore"),
        "plan_services",
        columns={
            "rate (req/s)": column.NumberColumn(format="%.0f", help="with the headroom that is provisioned"),
            "capacity (req/s)": column.NumberColumn(format="%.0f", help="predicted, of all its partitions"),
            "load": column.NumberColumn(format="%.0f %%", help="rate over capacity"),
            "latency (ms)": column.NumberColumn(format="%.1f", help="predicted, of its slowest partition"),
            "SLO (ms)": column.NumberColumn(format="%.4g"),
            "slack": column.NumberColumn(
                format="%.0f %%", help="how much the latency leaves of what a batch may take, a part of the SLO"
            ),
            "predicted": column.TextColumn(help="from measurements, fitted curves, or estimated from another GPU type"),
            "SLO kept": column.TextColumn(help="no: it gets less than it was promised"),
        },
        folded=("predicted",),
    )
    kinds = {str(one.slowest.basis) for one in shown if one.slowest is not None}
    if len(kinds) == 1:
        st.caption(f"All these latencies are {kinds.pop()}; *Words* says what that means.")


def _show_gpus(problem: Problem, plan: Plan, chosen: GpuFilter) -> None:
    table = made_once("plan.gpus", (problem, plan, chosen), lambda: gpu_table(problem, plan, chosen.gpus_of(plan)))
    column = st.column_config
    show_table(
        table,
        "plan_gpus",
        columns={
            "cost per hour": column.NumberColumn(format="$%.2f"),
            "power (W)": column.NumberColumn(format="%.0f"),
            "clock (MHz)": column.NumberColumn(format="%.0f"),
        },
    )
