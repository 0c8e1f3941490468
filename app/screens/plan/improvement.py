"""How cost and bound came closer: while a search goes on, and folded with the plan that it ended with."""

import streamlit as st

from sliceplan.app.charts.improvement import improvement_chart
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.improving import improved_so_far, steps_to
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.words import counted


def show_improvement(session: Session, plan: Plan, *, goes_on: bool) -> None:
    """Draws it of the search under way, or of the one that ended with the session's answer; nothing of other plans."""
    if goes_on:
        if found := improved_so_far(session):
            show_picture(session, improvement_chart(found), "improvement")
        return
    if not (steps := steps_to(session, plan)):
        return
    is_proven = plan.status is Status.OPTIMAL
    title = "How the proof came about" if is_proven else "How the search went"
    with st.expander(f"{title}: {counted(len(steps), 'step')} in {plan.runtime_s:.1f} s", key="fold_improvement"):
        show_picture(session, improvement_chart(steps), "improvement")
        meeting = (
            "They meet: that is the proof."
            if is_proven
            else "They do not meet: whether there is a plan between them is not known."
        )
        st.caption(
            "One line is the best plan that was known by then, the other what is proven that no plan can be better "
            f"than. {meeting}"
        )
