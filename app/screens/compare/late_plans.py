"""Plans of a comparison that do not hold: how many in a line, and whose they are and by how much behind it."""

import streamlit as st

from sliceplan.app.widgets.texts import listed
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.words import counted
from sliceplan.solver.wording.planner_words import plain_and_own_name
from sliceplan.solver.wording.summary import missed_slos

MOST_SERVICES = 3
"""That are named of a plan, the latest first."""


def show_late_plans(compared: Comparison) -> None:
    """Draws them, below the picture that has them hatched; nothing if all hold."""
    broken = [plan for plan in compared.plans if plan.violations]
    if not broken:
        return
    does, its = ("does", "Its planner predicts") if len(broken) == 1 else ("do", "Their planners predict")
    st.error(
        f"**{counted(len(broken), 'plan')} {does} not hold.** {its} latencies by a simpler model; checked with the "
        "full one, some services are late."
    )
    with st.expander("Which planners, and which services are late"):
        st.markdown(listed(f"{plain_and_own_name(plan.planner)}: {late_in_words(plan)}" for plan in broken))


def late_in_words(plan: Plan) -> str:
    """Returns whom a plan misses and by how much, the worst first."""
    worst = sorted(missed_slos(plan).items(), key=lambda one: (-one[1], one[0]))
    if not worst:
        return "its GPUs give away more than there is"
    shown = ", ".join(f"{name} by {100 * excess:.1f} %" for name, excess in worst[:MOST_SERVICES])
    more = f" and {len(worst) - MOST_SERVICES} more" if len(worst) > MOST_SERVICES else ""
    return f"above their latency limit are {shown}{more}"
