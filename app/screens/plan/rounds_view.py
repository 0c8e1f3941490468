"""Services that take turns, below the fleet: one round as a strip, and the longest way of a request against its SLO."""

import streamlit as st

from sliceplan.app.charts.round_strip import round_chart, rounds_in_words, rounds_of
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.choosing import choose_one
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.texts import literal
from sliceplan.app.widgets.words import meaning
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem


def show_rounds(session: Session, problem: Problem, plan: Plan) -> None:
    """Draws the round that is chosen, if services of the plan take turns."""
    rounds = made_once("plan.rounds", (plan,), lambda: rounds_of(plan))
    if not rounds:
        return
    st.header("Who runs when", help=meaning("round"))
    st.markdown(literal(rounds_in_words(rounds)))
    names = [one.name for one in rounds]
    chosen = names[0] if len(names) == 1 else choose_one(session, "plan.round", "Round", names)
    shown = rounds[names.index(chosen)]
    of = (plan, problem, chosen)
    show_picture(session, made_once("plan.round_strip", of, lambda: round_chart(shown, problem, plan)), "round")
    order = "" if shown.partition.turns != "any" else " Turns come in any order: the strip is one of them."
    st.caption(
        "Above, one round. Below, the longest way of a request of each service: it just missed its turn, waits, and "
        f"then runs; the line is what it may take.{order}"
    )
