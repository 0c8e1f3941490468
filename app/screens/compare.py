"""The planners side by side, against the best bound that any of them proved; and what services cost."""

from functools import partial

import streamlit as st

from sliceplan.app.parts.outdated import warn_if_outdated
from sliceplan.app.parts.pictures import show_picture
from sliceplan.app.parts.under_way import show_failure
from sliceplan.app.session.session import Session
from sliceplan.app.tables import comparison, prices
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.pricing import price_report

MOST_REASONS = 3
"""Services of one planner for which the comparison says why they have no place."""


def show(session: Session) -> None:
    """Draws the screen."""
    show_failure(session.results.get("compare"))
    planners_tab, prices_tab = st.tabs(["Planners", "Prices"])
    with planners_tab:
        _show_comparison(session)
    with prices_tab:
        _show_prices(session)


def _show_comparison(session: Session) -> None:
    if session.comparison is None:
        st.info("Press Compare to put the published heuristics beside the proven optimum.")
        return
    solved_problem, compared = session.comparison
    warn_if_outdated(session, solved_problem)
    bound = compared.bound.cost_per_hour
    st.subheader("No bound was proven" if bound is None else f"Proven: no plan costs less than ${bound:,.2f} per hour")
    show_picture(session, comparison.gap_chart(compared), "gaps")
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


def _show_prices(session: Session) -> None:
    answer = session.answer
    if answer is None or not answer.plan.gpus:
        st.info("Press Solve to see what each partition size and each service costs, and what changes would.")
        return
    solved_problem, plan = answer.problem, answer.plan
    warn_if_outdated(session, solved_problem)
    report = price_report(solved_problem, plan, shipped_profiles())
    if plan.prices is None or report is None:
        st.info("Slice prices are known for plans of `exact` without partitions that are kept free; this one has none.")
        return
    st.subheader("What services cost")
    usd = partial(st.column_config.NumberColumn, format="$%.3f")
    st.dataframe(
        prices.service_table(report),
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
        prices.size_table(plan.prices),
        hide_index=True,
        column_config={
            "price per hour": usd("price per hour", help="what one more of them would add to the least cost"),
            "scarcity of the GPU": usd("scarcity of the GPU", help="what one more GPU of the type would save per hour"),
        },
    )
