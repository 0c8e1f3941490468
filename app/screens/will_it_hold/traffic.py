"""The controls of the simulation: how much comes, how evenly, how it is dealt, and what is promised."""

import streamlit as st

from sliceplan.app.jobs.simulating import Traffic
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.choosing import choose_one
from sliceplan.solver.model.problem import Problem

LOAD = Kept[float]("will_it_hold.load")
ARRIVALS = Kept[str]("will_it_hold.arrivals")

BURSTINESS: dict[str, str] = {
    "evenly spaced": "even",
    "half as uneven": "gamma:0.5",
    "at random (Poisson)": "poisson",
    "bursts, variation 2": "gamma:2",
    "bursts, variation 4": "gamma:4",
}
"""What it is called, and how it is asked for."""

DISPATCHES: dict[str, str] = {
    "weighted_round_robin": "weighted round robin",
    "random": "at random",
    "least_loaded": "least loaded",
    "least_expected": "least expected completion",
    "central": "one central queue",
}

QUANTILES = (0.99, 0.95, 0.9, 0.999)
REQUESTS = (2_000, 20_000, 100_000, 1_000_000)

AT_ONCE = 2_000_000
"""Of all services together: about a second of one core, which the screen spends unasked when it is opened."""

MOST_REQUESTS = 20_000_000
"""Of all services together: some ten seconds of one core."""


def asked_traffic(session: Session, problem: Problem) -> Traffic:
    """Draws the controls and returns what they say."""
    load, arrivals, dispatch = st.columns(3)
    promise, requests, _ = st.columns(3)
    with load:
        st.session_state.setdefault("will_it_hold.load", LOAD.of(session, 1.0))
        factor = st.slider("Load, times the rates", 0.5, 2.0, step=0.05, key="will_it_hold.load")
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
        quantile = choose_one(
            session, "will_it_hold.quantile", "Must be in time", QUANTILES, lambda share: f"{100 * share:g} %"
        )
    with requests:
        offered = offered_requests(len(problem.workloads))
        count = choose_one(
            session, "will_it_hold.requests", "Requests per service", offered, lambda number: f"{number:,}"
        )
    return Traffic(round(factor, 2), BURSTINESS[name], dealing, quantile, count)


def offered_requests(services: int) -> list[int]:
    """Returns how many requests of each service can be asked for; first how many come when the screen is opened."""
    offered = [count for count in REQUESTS if count * services <= MOST_REQUESTS] or [REQUESTS[0]]
    at_once = max((count for count in REQUESTS[:-1] if count * services <= AT_ONCE), default=offered[0])
    return sorted(offered, key=lambda count: (count != at_once, count))


def words_of(traffic: Traffic) -> str:
    """Returns what was asked for in words."""
    arrivals = next(name for name, kind in BURSTINESS.items() if kind == traffic.arrivals)
    return f"{traffic.load:g} times the rates, {arrivals}, dealt by {DISPATCHES[traffic.dispatch]}"
