"""A word of warning over what answers an earlier state of the problem."""

import streamlit as st

from sliceplan.app.session.session import Session
from sliceplan.solver.model.problem import Problem


def warn_if_outdated(session: Session, answered: Problem, again: str = "solve again") -> None:
    """Says so if the tables state another problem by now; `again`: what to do about it."""
    if session.is_outdated(answered):
        st.warning(f"The problem was changed since. What is shown here answers the earlier one; {again}.")
