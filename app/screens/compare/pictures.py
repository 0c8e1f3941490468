"""What the plans of a comparison cost, how long they took and where their money goes: one picture at a time."""

import streamlit as st

from sliceplan.app.charts.capacities import capacity_chart
from sliceplan.app.charts.cost_runtime import cost_runtime_chart
from sliceplan.app.charts.gaps import gap_chart
from sliceplan.app.charts.money import money_chart
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Session
from sliceplan.app.tables.comparison import money_table
from sliceplan.app.widgets.choosing import choose_one
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.metrics.cost_breakdown import CostBreakdown, cost_breakdown
from sliceplan.solver.model.objective import COST
from sliceplan.solver.model.problem import Problem

COSTS, TIMES, MONEY = "What each costs", "How long each took", "Where the money goes"


def show_pictures(session: Session, problem: Problem, compared: Comparison) -> None:
    """Draws the choice of a picture, and the picture."""
    if compared.objective != COST:
        show_picture(session, capacity_chart(compared), "capacities")
        st.caption(
            "What all partitions of each plan could carry within the SLOs, together, which is more than they are asked "
            "to serve; the line is the proven limit. Only *exact search* aims for the most, the others for few GPUs."
        )
        return
    breakdowns = made_once("compare.waste", (compared,), lambda: _breakdowns(problem, compared))
    views = [COSTS] * (compared.bound.cost_per_hour is not None) + [TIMES] + [MONEY] * bool(breakdowns)
    view = choose_one(session, "compare.view", "Show", views, side_by_side=True)
    if view == COSTS:
        _show_costs(session, compared)
    elif view == TIMES:
        _show_times(session, compared)
    else:
        _show_money(session, compared, breakdowns)


def _breakdowns(problem: Problem, compared: Comparison) -> dict[str, CostBreakdown]:
    found = ((plan.planner, cost_breakdown(problem, plan, known_profiles())) for plan in compared.plans)
    return {planner: one for planner, one in found if one is not None}


def _show_costs(session: Session, compared: Comparison) -> None:
    show_picture(session, gap_chart(compared), "gaps")
    st.caption(
        "No plan that holds can cost less than the line: *exact search* proves that. In small print: whose rules a "
        "planner follows."
    )


def _show_times(session: Session, compared: Comparison) -> None:
    show_picture(session, cost_runtime_chart(compared), "cost-against-time")
    st.caption(
        "The cheapest plan first, with its cost per hour; the farther left, the sooner it was found, as measured on "
        "this machine."
    )


def _show_money(session: Session, compared: Comparison, breakdowns: dict[str, CostBreakdown]) -> None:
    show_picture(session, money_chart(compared.plans, breakdowns), "where-the-money-goes")
    st.caption(
        "**Useful work**: what the required rates would need if every partition ran at its best throughput. "
        "**Over-provision**: capacity beyond the required rate. **Internal slack**: throughput lost because the SLO "
        "limits the batch size. **Fragmentation**: room on used GPUs that is in no partition. Together they are the "
        "plan's cost."
    )
    with st.expander("As parts of each plan's cost"):
        _money_table(compared, breakdowns)


def _money_table(compared: Comparison, breakdowns: dict[str, CostBreakdown]) -> None:
    said = {
        "useful work": "part of the cost that the required rates need",
        "over-provision": "part of the cost for capacity beyond the required rates",
        "internal slack": "part of the cost that is lost to batches cut short by the SLO",
        "fragmentation": "part of the cost for room in no partition",
    }
    percents = {name: st.column_config.NumberColumn(name, format="%.1f %%", help=text) for name, text in said.items()}
    show_table(money_table(compared.plans, breakdowns), "money_parts", columns=percents, key="money_parts")
