"""What would a better router save? The same services planned for every way to deal requests."""

import pandas as pd
import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.routers import PlannedByRouter, planned_by_router
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.widgets.job_progress import begin, show_failure
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal, sentence
from sliceplan.app.widgets.traffic import DISPATCHES
from sliceplan.solver.model.words import boards_in_cell
from sliceplan.solver.what_if.points import used_profiles
from sliceplan.solver.wording.routers import router_savings

PURPOSE = "routers"


def offer_routers(session: Session, answer: Answer) -> None:
    """Draws the button, and what each router takes; nothing where the promise does not depend on it."""
    problem = answer.problem
    if problem.settings.latency != "percentile":
        return
    st.header("What would a better router save?")
    if st.button(
        "Plan for every router",
        key="plan_routers",
        help="How requests are dealt to a service's partitions decides how much these carry. The same services are "
        "planned for each way; your plan stays as it is.",
    ):
        try:
            title, used = f"{problem.name}: routers", used_profiles(problem, known_profiles())
            job = shared_jobs().submit(session.user, PURPOSE, title, planned_by_router, problem, used)
        except TooManyJobsError as error:
            st.error(literal(str(error)))
            return
        session.results.pop(PURPOSE, None)
        begin(session, PURPOSE, job, problem)
        st.rerun()
    found = session.results.get(PURPOSE)
    if found is None or found.problem is not problem:
        return
    show_failure(found)
    if isinstance(found.value, PlannedByRouter):
        _show(problem.settings.dispatch, found.value)


def _show(planned_for: str, found: PlannedByRouter) -> None:
    lines = [_in_words(line) for line in router_savings(planned_for, found.plans)]
    if found.left_out is not None:
        lines.append(f"Routers that know every partition's state are not planned {found.left_out}.")
    st.markdown(listed(lines))
    table = pd.DataFrame(
        [
            {
                "router": DISPATCHES[dispatch] + (" (this plan)" if dispatch == planned_for else ""),
                "GPUs": boards_in_cell(plan.gpus) if plan.gpus else None,
                "cost per hour": plan.cost_per_hour,
                "above the least": None if plan.gap is None else 100 * plan.gap,
                "status": plan.status.value,
            }
            for dispatch, plan in found.plans
        ]
    )
    column = st.column_config
    columns = {
        "cost per hour": column.NumberColumn(format="$%.2f"),
        "above the least": column.NumberColumn(format="%.2f %%", help="at most"),
    }
    show_table(table, "routers", columns=columns, placeholder="")


def _in_words(line: str) -> str:
    """Returns a sentence with the names of routers as the page has them."""
    for name, words in DISPATCHES.items():
        line = line.replace(name, words)
    return sentence(line)
