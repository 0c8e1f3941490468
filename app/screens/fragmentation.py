"""What is left of each GPU, and what still fits there."""

import streamlit as st

from sliceplan.app.session.session import Session
from sliceplan.app.tables.fragmentation import fragmentation_table


def show(session: Session) -> None:
    """Draws the screen."""
    answer = session.answer
    if answer is None or answer.plan.metrics is None:
        st.info("Press Solve to see what is left of each GPU and what still fits there.")
        return
    plan, metrics = answer.plan, answer.plan.metrics
    slack, holes, wasted = st.columns(3)
    has_instances = any(gpu.sharing == "mig" for gpu in plan.gpus)
    slack.metric("Internal slack", f"{metrics.internal_slack or 0:.1%}", help="part of the allocated SMs that idles")
    holes.metric(
        "External fragmentation",
        f"{metrics.external_fragmentation or 0:.1%}",
        help="part of the SMs in no slice or share",
    )
    if has_instances:
        wasted.metric(
            "Wasted compute slices", metrics.wasted_compute_slices, help="free, but out of any profile's reach"
        )
    st.dataframe(fragmentation_table(plan), hide_index=True, width="stretch")
