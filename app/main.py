"""The planner in the browser: state a problem, solve it, compare planners, see what is left. Holds no algorithm."""

from functools import partial
from typing import Any, get_args

import pandas as pd
import streamlit as st

from sliceplan.app import comparison, fleet_chart, fragmentation, price_tables, problem_tables
from sliceplan.solver import api
from sliceplan.solver.digest import reference
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import dump_problem, example_problems, parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.headline import headline, misses
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import FleetEntry, Problem, Settings, Workload
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.pricing import price_report
from sliceplan.solver.progress import listening

SETTINGS_IN_A_ROW = 4
# Services of one planner for which the comparison says why they have no place. No string below it: it would be shown.
MOST_REASONS = 3
EXCESS = {"excess": st.column_config.NumberColumn("above the limit", format="%.1f %%")}


def main() -> None:
    """Draws the page."""
    st.set_page_config(page_title="sliceplan", layout="wide")
    st.title("sliceplan")
    st.caption(
        "State your GPUs and services, then solve: sliceplan finds the cheapest way to cut GPUs with MIG, share them "
        "with MPS or use them whole, and proves it. The demo is loaded; change any cell, or load your own problem."
    )
    state = st.session_state
    if "problem" not in state:
        _load(next(iter(example_problems().values())))
    _offer_problems()
    st.caption(f"Problem: {state.problem.name}")
    problem = _edit_problem()
    _offer_actions(problem)
    plan_tab, compare_tab, price_tab, room_tab = st.tabs(["Plan", "Compare", "Prices", "Fragmentation"])
    with plan_tab:
        _show_plan(problem)
    with compare_tab:
        _show_comparison(problem)
    with price_tab:
        _show_prices(problem)
    with room_tab:
        _show_fragmentation()


def _load(problem: Problem) -> None:
    """Makes a problem the one that the tables show; a new key gives the tables fresh editors."""
    state = st.session_state
    state.problem = problem
    state.fleet = problem_tables.fleet_table(problem)
    state.workloads = problem_tables.workload_table(problem)
    state.version = state.get("version", 0) + 1
    state.solved = state.compared = None


def _offer_problems() -> None:
    examples = example_problems()
    left, right = st.columns(2)
    with left:
        chosen = st.selectbox("Example problems", list(examples), key="example")
        if st.button("Load example", key="load_example"):
            _load(examples[chosen])
    with right:
        upload = st.file_uploader("Or upload a problem (YAML or JSON)", type=["yaml", "yml", "json"], key="upload")
        if upload is not None and st.session_state.get("uploaded") != upload.file_id:
            st.session_state.uploaded = upload.file_id
            try:
                _load(parse_problem(upload.getvalue().decode("utf-8-sig"), upload.name))
                st.session_state.upload_findings = []
            except UnicodeDecodeError:
                st.session_state.upload_findings = [f"{upload.name}: is not UTF-8 text"]
            except InputError as error:
                st.session_state.upload_findings = [str(finding) for finding in error.findings]
        for finding in st.session_state.get("upload_findings", []) if upload is not None else []:
            st.error(finding)


def _edit_problem() -> Problem | None:
    """Shows the tables and settings; returns the problem that they state, None if something is wrong."""
    state = st.session_state
    loaded: Problem = state.problem
    fleet_place, workload_place, settings_place = st.container(), st.container(), st.container()
    with settings_place:
        settings = _edit_settings(loaded.settings)
    with fleet_place:
        st.subheader("Fleet")
        fleet = _editor(state.fleet, "fleet", _fleet_columns())
        fleet_marks = st.container()
    with workload_place:
        st.subheader("Services")
        workloads = _editor(state.workloads, "workloads", _workload_columns())
        workload_marks = st.container()
    try:
        problem = problem_tables.problem_of(loaded.name, fleet, workloads, settings)
        resolve(problem, shipped_profiles(), problem_tables.SOURCE)
    except InputError as error:
        with fleet_marks:
            _show_marks(error.findings, "fleet", fleet)
        with workload_marks:
            _show_marks(error.findings, "workloads", workloads)
        for text in problem_tables.elsewhere(error.findings):
            st.error(text)
        return None
    return problem


def _editor(frame: pd.DataFrame, name: str, columns: dict[str, Any]) -> pd.DataFrame:
    key = f"{name}_{st.session_state.version}"
    edited: pd.DataFrame = st.data_editor(
        frame, key=key, num_rows="dynamic", column_config=columns, hide_index=True, width="stretch", placeholder=""
    )
    return edited.reset_index(drop=True)


def _show_marks(findings: tuple[Finding, ...], table: str, frame: pd.DataFrame) -> None:
    """Shows the rows that are wrong, with the wrong cells marked, right below their table."""
    marks = problem_tables.marks_of(findings, table, len(frame))
    wrong = [i for i, mark in enumerate(marks) if mark]
    if not wrong:
        return
    st.error(f"{len(wrong)} row{'s' if len(wrong) > 1 else ''} of this table cannot be used:")
    rows = frame.loc[wrong].dropna(axis="columns", how="all").copy()
    rows = rows.map(lambda cell: f"{cell:g}" if isinstance(cell, float) else cell)
    rows.insert(0, "row", [i + 1 for i in wrong])
    rows[problem_tables.MARK] = [marks[i] for i in wrong]
    columns = [[part.split(" ")[0].split("[")[0] for part in marks[i].split("; ")] for i in wrong]

    def red(row: "pd.Series[Any]") -> list[str]:
        bad = columns[wrong.index(row["row"] - 1)]
        return ["background-color: #F8D0C8; color: black" if name in bad else "" for name in row.index]

    st.dataframe(rows.style.apply(red, axis="columns"), hide_index=True, width="stretch")


def _edit_settings(settings: Settings) -> dict[str, Any]:
    with st.expander("Settings"):
        edited: dict[str, Any] = {}
        columns: list[Any] = []
        for name, field in Settings.model_fields.items():
            columns = columns or st.columns(SETTINGS_IN_A_ROW)
            column = columns.pop(0)
            value = getattr(settings, name)
            key = f"{name}_{st.session_state.version}"
            if options := get_args(field.annotation):
                edited[name] = column.selectbox(name, options, options.index(value), help=field.description, key=key)
                continue
            if isinstance(value, bool):
                edited[name] = column.checkbox(name, value=value, help=field.description, key=key)
                continue
            step = 1 if isinstance(value, int) else 0.05 if value < 1 else 5.0
            edited[name] = column.number_input(name, value=value, step=step, help=field.description, key=key)
    return edited


def _fleet_columns() -> dict[str, Any]:
    fields = FleetEntry.model_fields
    column = st.column_config
    return {
        "gpu": column.SelectboxColumn(
            "gpu", options=list(load_catalogue()), required=True, help=fields["gpu"].description
        ),
        "count": column.NumberColumn("count", min_value=0, step=1, help=fields["count"].description),
        "price_per_hour": column.NumberColumn(
            "price_per_hour", format="$%.2f", help=fields["price_per_hour"].description
        ),
        "sharing": column.TextColumn("sharing", help=fields["sharing"].description),
        "nodes": column.TextColumn("nodes", help="named nodes and their GPUs, as gpu-node-1:4, gpu-node-2:4"),
    }


def _workload_columns() -> dict[str, Any]:
    fields = Workload.model_fields
    column = st.column_config
    models = sorted({profile.model for profile in shipped_profiles()})
    texts = {name: column.TextColumn(name, help=fields[name].description) for name in ("name", "batch_sizes", "gpus")}
    numbers = {
        name: column.NumberColumn(name, help=fields[name].description)
        for name in ("rate_rps", "slo_ms", "min_replicas", "max_replicas", "memory_mib", "value")
    }
    return {
        **texts,
        **numbers,
        "model": column.SelectboxColumn("model", options=models, help=fields["model"].description),
    }


def _offer_actions(problem: Problem | None) -> None:
    state = st.session_state
    solve_column, compare_column, save_column, _ = st.columns([1, 1, 1, 3])
    # Always there, so that what comes below keeps its place, and the tabs the one that is open.
    under_way = st.container()
    can_run = problem is not None
    if solve_column.button("Solve", type="primary", disabled=not can_run, key="solve", width="stretch") and problem:
        with under_way.status("Looking for the cheapest plan", expanded=False) as status, listening(st.write):
            state.solved = (problem, api.solve(problem))
            status.update(label=f"Solved in {state.solved[1].runtime_s:.2f} s", state="complete")
    if compare_column.button("Compare planners", disabled=not can_run, key="compare", width="stretch") and problem:
        names = api.planners_for(problem)
        progress, done = under_way.progress(0.0, "Comparing planners"), []

        def show(plan: Plan) -> None:
            done.append(plan)
            progress.progress(len(done) / len(names), f"{plan.planner} is done ({len(done)} of {len(names)})")

        state.compared = (problem, api.compare(problem, on_plan=show))
        state.solved = (problem, state.compared[1].plans[0])
        progress.empty()
    save_column.download_button(
        "Download problem",
        dump_problem(problem) if problem else "",
        file_name=f"{problem.name}.yaml" if problem else "problem.yaml",
        disabled=not can_run,
        key="download_problem",
        width="stretch",
    )


def _warn_if_outdated(solved_problem: Problem, problem: Problem | None) -> None:
    if problem is None or reference(problem) != reference(solved_problem):
        st.warning("The problem was changed since. What is shown here answers the earlier one; solve again.")


def _show_plan(problem: Problem | None) -> None:
    if st.session_state.solved is None:
        st.info("Press Solve to see the cheapest plan: its cost, its proof, and each GPU's slices.")
        return
    solved_problem, plan = st.session_state.solved
    _warn_if_outdated(solved_problem, problem)
    st.subheader(headline(plan, plan.gap))
    if plan.unserved:
        st.dataframe(pd.DataFrame([item.model_dump() for item in plan.unserved]), hide_index=True, width="stretch")
    if plan.violations:
        st.error("Do not deploy this plan: " + misses(plan) + ".")
        table = pd.DataFrame([one.model_dump() for one in plan.violations])
        st.dataframe(table.assign(excess=100 * table["excess"]), hide_index=True, column_config=EXCESS, width="stretch")
    if not plan.gpus:
        return
    st.plotly_chart(fleet_chart.fleet_chart(plan, solved_problem), width="stretch", key="fleet_chart")
    st.caption(
        "One bar a GPU, to scale. Point at a slice or share for batch, processes, latency against SLO and its causes, "
        "and load."
    )
    if plan.warnings:
        noun = "thing" if len(plan.warnings) == 1 else "things"
        with st.expander(f"{len(plan.warnings)} {noun} to know about these predictions"):
            st.markdown("\n".join(f"- {warning}" for warning in plan.warnings))
    if plan.shadow is not None and plan.shadow.extra_cost_per_hour is not None:
        st.caption(
            f"Standby processes: {plan.shadow.percent:g} % of each MPS GPU is kept free for them, which costs "
            f"${plan.shadow.extra_cost_per_hour:,.2f} of the plan's ${plan.cost_per_hour:,.2f} per hour."
        )
    if plan.bound.cost_per_hour is not None:
        st.caption(f"Proof: no plan costs less than ${plan.bound.cost_per_hour:,.2f} per hour ({plan.bound.method}).")
    st.download_button(
        "Download plan", dump_plan(plan), file_name=f"{solved_problem.name}.plan.json", key="download_plan"
    )


def _show_comparison(problem: Problem | None) -> None:
    if st.session_state.compared is None:
        st.info("Press Compare planners to put the published heuristics beside the proven optimum.")
        return
    solved_problem, compared = st.session_state.compared
    _warn_if_outdated(solved_problem, problem)
    bound = compared.bound.cost_per_hour
    st.subheader("No bound was proven" if bound is None else f"Proven: no plan costs less than ${bound:,.2f} per hour")
    st.plotly_chart(comparison.gap_chart(compared), width="stretch", key="gap_chart")
    column = st.column_config
    percent = {name: column.NumberColumn(name, format="%.1f %%") for name in ("gap", "slack", "fragmentation")}
    st.dataframe(
        comparison.comparison_table(compared),
        hide_index=True,
        width="stretch",
        column_config={
            **percent,
            "cost per hour": column.NumberColumn("cost per hour", format="$%.2f"),
            "time (s)": column.NumberColumn("time (s)", format="%.3f"),
            "missed SLOs": column.NumberColumn(
                "missed SLOs", help="services whose latency, by the full interference model, passes what the SLO leaves"
            ),
            "worst miss": column.NumberColumn("worst miss", format="%.1f %%"),
        },
    )
    for plan in compared.plans:
        for item in plan.unserved[:MOST_REASONS]:
            st.caption(f"{plan.planner}: {item.workload}: {item.reason}")
        if len(plan.unserved) > MOST_REASONS:
            st.caption(f"{plan.planner}: … and {len(plan.unserved) - MOST_REASONS} more services")


def _show_prices(problem: Problem | None) -> None:
    if st.session_state.solved is None or not st.session_state.solved[1].gpus:
        st.info("Press Solve to see what each partition size and each service costs, and what changes would.")
        return
    solved_problem, plan = st.session_state.solved
    _warn_if_outdated(solved_problem, problem)
    report = price_report(solved_problem, plan, shipped_profiles())
    if plan.prices is None or report is None:
        st.info("Slice prices are known for plans of `exact` without partitions that are kept free; this one has none.")
        return
    st.subheader("What services cost")
    usd = partial(st.column_config.NumberColumn, format="$%.3f")
    st.dataframe(
        price_tables.service_table(report),
        hide_index=True,
        width="stretch",
        column_config={
            "per hour": usd("per hour", help="its share of the plan's cost; all shares add up to it"),
            "per million requests": usd("per million requests"),
            "+10 % rate": usd("+10 % rate", help="what 10 % more requests would add per hour"),
            "-10 % SLO": usd("-10 % SLO", help="what an SLO shorter by 10 % would add; empty: nothing could serve it"),
            "to move": usd("to move", help="how much dearer its next best partitions are; the least would move first"),
        },
    )
    st.caption(
        f"The shares add up to ${report.cost_per_hour:,.2f} per hour. ${report.unattributed_usd_per_hour:,.2f} of that "
        "is what buying whole GPUs adds, and neighbours under MPS; it is spread in proportion. Changes are priced at "
        "today's slice prices."
    )
    st.subheader("What partitions cost")
    st.dataframe(
        price_tables.size_table(plan.prices),
        hide_index=True,
        column_config={
            "price per hour": usd("price per hour", help="what one more of them would add to the least cost"),
            "scarcity of the GPU": usd("scarcity of the GPU", help="what one more GPU of the type would save per hour"),
        },
    )


def _show_fragmentation() -> None:
    if st.session_state.solved is None or st.session_state.solved[1].metrics is None:
        st.info("Press Solve to see what is left of each GPU and what still fits there.")
        return
    plan: Plan = st.session_state.solved[1]
    if plan.metrics is None:
        return
    slack, holes, wasted = st.columns(3)
    has_instances = any(gpu.sharing == "mig" for gpu in plan.gpus)
    slack.metric(
        "Internal slack", f"{plan.metrics.internal_slack or 0:.1%}", help="part of the allocated SMs that idles"
    )
    holes.metric(
        "External fragmentation",
        f"{plan.metrics.external_fragmentation or 0:.1%}",
        help="part of the SMs in no slice or share",
    )
    if has_instances:
        wasted.metric(
            "Wasted compute slices", plan.metrics.wasted_compute_slices, help="free, but out of any profile's reach"
        )
    st.dataframe(fragmentation.fragmentation_table(plan), hide_index=True, width="stretch")


main()
