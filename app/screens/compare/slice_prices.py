"""What the proof of a plan says that partitions and services cost."""

from functools import partial

import streamlit as st

from sliceplan.app.charts.service_costs import service_cost_chart
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables import prices
from sliceplan.app.widgets.actions import offer_solve
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.solver.analysis.pricing import price_report

from .each_type import show_types


def show_prices(session: Session) -> None:
    """Draws the prices of the answer; without one, what gives them."""
    answer = session.answer
    if answer is None or not answer.plan.gpus:
        offer_solve(
            session,
            "Press Solve to see what each partition size and each service costs, and what changes would.",
            "prices",
        )
        return
    solved_problem, plan = answer.problem, answer.plan
    warn_if_outdated(session, solved_problem)
    report = made_once("compare.prices", (plan,), lambda: price_report(solved_problem, plan, known_profiles()))
    report = shown(session, solved_problem, report)
    if plan.prices is None or report is None:
        st.info(
            "Prices of partition sizes are known for plans of `exact` without partitions that are kept free; this "
            f"one, of `{plan.planner}`, has none."
        )
        return
    st.caption(
        "The proof that no plan is cheaper gives each kind of partition a price: what one more of it would add to the "
        "least cost. So each service has a price too, though it shares its GPUs with others. Use them to charge teams, "
        "and to see which promise is dear."
    )
    st.header("What services cost")
    show_picture(session, service_cost_chart(report), "service-costs")
    usd = partial(st.column_config.NumberColumn, format="$%.3f")
    show_table(
        prices.service_table(report),
        "service_prices",
        columns={
            "per hour": usd("per hour", help="its share of the plan's cost; all shares add up to it"),
            "per month": st.column_config.NumberColumn("per month", format="dollar", help="of 730 hours"),
            "per million requests": usd("per million requests"),
            "+10 % rate": usd("+10 % rate", help="what 10 % more requests would add per hour"),
            "-10 % SLO": usd("-10 % SLO", help="what an SLO shorter by 10 % would add; empty: nothing could serve it"),
            "to move": usd(
                "to move",
                help="how much more its next best partitions cost; the service with the least would move first",
            ),
        },
        folded=("per million requests", "+10 % rate", "-10 % SLO", "to move", "would move to"),
        at_once=4,
        placeholder="",
    )
    st.caption(
        f"The shares add up to ${report.cost_per_hour:,.2f} per hour. ${report.unattributed_usd_per_hour:,.2f} of that "
        "is what buying whole GPUs adds, and neighbours under MPS; it is spread in proportion. Changes are priced at "
        "today's prices of partition sizes."
    )
    show_types(session, solved_problem, plan)
    st.header("What partitions cost")
    show_table(
        prices.size_table(plan.prices),
        "partition_prices",
        columns={
            "price per hour": usd("price per hour", help="what one more of them would add to the least cost"),
            "scarcity of the GPU": usd("scarcity of the GPU", help="what one more GPU of the type would save per hour"),
        },
        titles=2,
        at_once=4,
    )
