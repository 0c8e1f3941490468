"""The planners that are done while others still run, a row each as it comes."""

from collections.abc import Iterable

import pandas as pd
import streamlit as st

from sliceplan.app.jobs.jobs import UnknownJobError, shared_jobs
from sliceplan.app.jobs.row_so_far import RowSoFar
from sliceplan.app.session.session import Session
from sliceplan.app.tables.comparison import FAILED, in_words
from sliceplan.app.widgets.job_progress import POLL_S
from sliceplan.app.widgets.tables import show_table
from sliceplan.solver.wording.planner_words import plain_name


@st.fragment(run_every=POLL_S)
def show_rows_so_far(session: Session) -> None:
    """Draws them, anew as they come; the comparison takes their place when all are done."""
    job = session.open_jobs.get("compare")
    try:
        rows = () if job is None else shared_jobs().status(job.id).rows
    except UnknownJobError:
        rows = ()
    if not rows:
        st.info("The first planner is running. Each row appears as soon as it is ready.")
        return
    st.markdown(f"**{rows[-1].done} of {rows[-1].of} planners are done.** Pictures and costs above the least follow.")
    column = st.column_config
    show_table(table_of(rows), "rows_so_far", columns={"time (s)": column.NumberColumn("time (s)", format="%.3f")})


def table_of(rows: Iterable[RowSoFar]) -> pd.DataFrame:
    """Returns one row for each planner that is done."""
    return pd.DataFrame(
        [
            {
                "what it does": plain_name(row.planner),
                "planner": row.planner,
                "verdict": FAILED if row.status is None else in_words(row.status, row.best),
                "cost, or what it carries": row.value,
                "GPUs": row.gpus,
                "time (s)": row.runtime_s,
            }
            for row in rows
        ]
    )
