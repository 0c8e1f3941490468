"""The controls of the simulation: how much comes, how evenly, how it is dealt, and what is promised."""

import streamlit as st

from sliceplan.app.jobs.simulating import Traffic
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.choosing import choose_one
from sliceplan.app.widgets.traffic import BURSTINESS, DISPATCHES, offered_quantiles, offered_requests
from sliceplan.solver.model.problem import Problem

LOAD = Kept[float]("will_it_hold.load")
ARRIVALS = Kept[str]("will_it_hold.arrivals")


def asked_traffic(session: Session, problem: Problem) -> Traffic:
    """Draws the controls and returns what they say."""
    place = st.container(key="beside_traffic")
    load, arrivals, dispatch = place.columns(3)
    promise, requests, _ = place.columns(3)
    with load:
        st.session_state.setdefault("will_it_hold.load", LOAD.of(session, 1.0))
        factor = st.slider("Load (times the rates)", 0.5, 2.0, step=0.05, key="will_it_hold.load")
        LOAD.keep(session, factor)
    with arrivals:
        names = list(BURSTINESS)
        kept = ARRIVALS.of(session, "at random (Poisson)")
        st.session_state.setdefault("will_it_hold.arrivals", kept if kept in names else "at random (Poisson)")
        name = st.selectbox("Requests come", names, key="will_it_hold.arrivals")
        ARRIVALS.keep(session, name)
    with dispatch:
        own = problem.settings.dispatch  # first, as it is what the plan is for
        ways = sorted(DISPATCHES, key=lambda one: one != own)
        dealing = choose_one(session, "will_it_hold.dispatch", "Dealt to partitions", ways, lambda one: DISPATCHES[one])
    with promise:
        quantiles = offered_quantiles(problem)
        quantile = choose_one(
            session, "will_it_hold.quantile", "Must be in time", quantiles, lambda share: f"{100 * share:g} %"
        )
    with requests:
        offered = offered_requests(len(problem.workloads))
        count = choose_one(
            session, "will_it_hold.requests", "Requests per service", offered, lambda number: f"{number:,}"
        )
    return Traffic(round(factor, 2), BURSTINESS[name], dealing, quantile, count)
