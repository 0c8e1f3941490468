"""The plan: the fleet as a picture, and its cost, bound and gap in words."""

import pandas as pd
import streamlit as st

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.parts.outdated import warn_if_outdated
from sliceplan.app.parts.pictures import show_picture
from sliceplan.app.parts.taking import offer_plan
from sliceplan.app.parts.under_way import show_failure
from sliceplan.app.session.session import Session
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.headline import headline, misses

EXCESS = {"excess": st.column_config.NumberColumn("above the limit", format="%.1f %%")}


def show(session: Session) -> None:
    """Draws the screen."""
    show_failure(session.results.get("solve"))
    answer = session.answer
    if answer is None:
        st.info("Press Solve to see the cheapest plan: its cost, its proof, and each GPU's slices.")
        return
    solved_problem, plan = answer.problem, answer.plan
    warn_if_outdated(session, solved_problem)
    st.subheader(headline(plan, plan.gap))
    if plan.unserved:
        st.dataframe(pd.DataFrame([item.model_dump() for item in plan.unserved]), hide_index=True, width="stretch")
    if plan.violations:
        st.error("Do not deploy this plan: " + misses(plan) + ".")
        table = pd.DataFrame([one.model_dump() for one in plan.violations])
        st.dataframe(table.assign(excess=100 * table["excess"]), hide_index=True, column_config=EXCESS, width="stretch")
    if not plan.gpus:
        return
    show_picture(session, fleet_chart(plan, solved_problem), "fleet")
    st.caption(
        "One bar a GPU, to scale. Point at a slice or share for batch, processes, latency against SLO and its causes, "
        "and load."
    )
    if plan.warnings:
        noun = "thing" if len(plan.warnings) == 1 else "things"
        with st.expander(f"{len(plan.warnings)} {noun} to know about these predictions"):
            st.markdown("\n".join(f"- {warning}" for warning in plan.warnings))
    if plan.shadow is not None and plan.shadow.extra_cost_per_hour is not None:
        st.caption(
            f"Standby processes: {plan.shadow.percent:g} % of each MPS GPU is kept free for them, which costs "
            f"${plan.shadow.extra_cost_per_hour:,.2f} of the plan's ${plan.cost_per_hour:,.2f} per hour."
        )
    if plan.bound.cost_per_hour is not None:
        st.caption(f"Proof: no plan costs less than ${plan.bound.cost_per_hour:,.2f} per hour ({plan.bound.method}).")
    st.download_button(
        "Download plan", dump_plan(plan), file_name=f"{solved_problem.name}.plan.json", key="download_plan"
    )
    offer_plan(session)
