"""Capacity by service over the steps, the rate as a line: who comes near to falling short, and when."""

import streamlit as st

from sliceplan.app.charts.capacity_steps import MOST_DRAWN, capacities, capacity_chart
from sliceplan.app.charts.service_colours import service_colours
from sliceplan.app.jobs.moves import PlannedMoves
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.widgets.choosing import choose_some
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture


def show_capacity(session: Session, moves: PlannedMoves, answer: Answer, window: tuple[float, float] | None) -> None:
    """Draws the services that come nearest to their rate, or those that are chosen."""
    services = made_once(
        "transition.capacities", (moves.digest,), lambda: capacities(moves.transition, moves.old, moves.assigned)
    )
    if not services:
        return
    st.header("What services could carry meanwhile")
    names = [one.service for one in services]
    chosen = choose_some(session, "transition.services", "Services", names) if len(names) > 1 else []
    shown = [one for one in services if one.service in chosen] or services
    colours = service_colours((one.name for one in answer.problem.workloads), answer.plan, moves.old)
    show_picture(session, capacity_chart(shown, colours, moves.transition, window), "capacity")
    more = f" Of {len(shown):,} services, the {MOST_DRAWN} that come nearest to it." if len(shown) > MOST_DRAWN else ""
    st.caption(
        "In estimated time, as a part of what each service needs on the way: the lower of its rates in the two plans, "
        f"the dashed line. Below it, requests are lost; lines along the top edge are even higher.{more}"
    )
