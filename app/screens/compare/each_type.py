"""Why a service is on the GPU or CPU type where it is: what it would cost on each."""

from functools import partial

import streamlit as st

from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import names_shown
from sliceplan.app.tables.prices import type_table
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.tables import show_table
from sliceplan.solver.analysis.costs_by_type import costs_by_type
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem


def show_types(session: Session, problem: Problem, plan: Plan) -> None:
    """Draws what services would cost on each type of the fleet; nothing where there is one."""
    if len(problem.fleet) < 2:
        return
    costs = made_once("compare.types", (plan,), lambda: costs_by_type(problem, plan, known_profiles()))
    st.header("What each service would cost on each type")
    usd = partial(st.column_config.NumberColumn, format="$%.3f", help="per hour; empty: nothing there keeps its SLO")
    table = type_table(problem, plan, costs)
    show_table(
        table.assign(service=table["service"].map(names_shown(session, problem))),
        "type_prices",
        columns={gpu: usd(f"on {gpu}") for gpu in costs},
        placeholder="",
    )
    st.caption(
        "Its cheapest partitions of one type, at the prices below. A service may run where it costs more, on a "
        "GPU or CPU that others need anyway and that has room for it."
    )
