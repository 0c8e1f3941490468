"""Services of a plan whose models nobody measured: which they are and what they are planned as, and the way to more."""

import streamlit as st

from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.session import Session
from sliceplan.app.session.stand_ins import stand_ins_in
from sliceplan.app.widgets.texts import listed
from sliceplan.solver.model.problem import Problem

MOST_NAMED = 5


def show_assumed(session: Session, problem: Problem) -> None:
    """Draws them, nothing where there are none; `problem`: with its services' names, not as people call them."""
    found = stand_ins_in(session, problem)
    if not found:
        return
    lines = [one.words for one in found]
    more = f"\n- and {len(lines) - MOST_NAMED:,} more" if len(lines) > MOST_NAMED else ""
    st.warning(
        "**A first plan, with models that stand in for others.** What is proven and promised holds for these; your "
        f"models may need more, or less.\n\n{listed(lines[:MOST_NAMED])}{more}"
    )
    st.button("Bring measurements of my own", key="measure_assumed", on_click=lead_to, args=(session, "profiles"))
