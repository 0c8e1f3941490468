"""What a plan's GPUs could carry at most: in sentences, and service by service."""

import streamlit as st

from sliceplan.app.tables.capacity import capacity_table
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.capacity_report import CapacityReport
from sliceplan.solver.model.counted import asks_for_capacity
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.capacity import capacity_lines

MOST_UNDER_MPS, MOST_BESIDE_OTHERS = 1_000, 300
"""Services under MPS, and those where GPUs are also cut or used whole."""

CARDS_AT_ONCE = 3
"""Services that a phone shows at first."""


def why_not_known(problem: Problem) -> str | None:
    """Returns why it is not known what GPUs could carry at most; None: it is found on being asked."""
    if asks_for_capacity(problem):
        return "what the plan itself says: it aims for most requests"
    settings = problem.settings
    if settings.turns != "none":
        return "not known where services take turns"
    if settings.keeps_spares and any(entry.cpu is not None or "mps" in entry.sharing for entry in problem.fleet):
        return "with partitions kept free known on GPUs cut by MIG or used whole"
    if any("mps" in entry.sharing for entry in problem.fleet):
        if settings.mps_rules != "free" or settings.shadow_percent:
            return "under MPS known where everything is decided, not shares alone, and without standbys (Settings)"
        if len(problem.workloads) > MOST_UNDER_MPS:
            return f"under MPS known of up to {MOST_UNDER_MPS} services"
        if len(problem.workloads) > MOST_BESIDE_OTHERS and any(set(one.sharing) != {"mps"} for one in problem.fleet):
            return f"under MPS beside other GPUs known of up to {MOST_BESIDE_OTHERS} services"
    return None


def show_most_carried(report: CapacityReport) -> None:
    """Draws what each service could be given, all together."""
    lines = most_in_words(report) or ["No plan was found in time."]
    st.markdown(f"**The most they could carry:** {literal(' '.join(lines))}")
    show_services(report)


def most_in_words(report: CapacityReport) -> list[str]:
    """Returns what is found and proven in sentences; one weighed by what a GPU carries says so in whole GPUs."""
    if report.weights != "solo" or report.capacity is None:
        return capacity_lines(report)
    lines = [
        "Every service keeps its rate, and what is left is given to those of which a GPU carries most. All at once "
        f"they could then carry as much as {report.capacity:.2f} GPUs do that serve one service alone."
    ]
    if report.limit is None or report.gap is None:
        lines.append("Nothing is proven about more; allow more time.")
    elif report.gap == 0:
        lines.append("Proven: no plan on these GPUs could carry more.")
    else:
        lines.append(f"Proven: no plan could carry more than {report.limit:.2f}; this is {report.gap:.1%} below that.")
    more = [f"with one more {gpu} at most {limit:.2f}" for gpu, limit in report.one_more.items()]
    return [*lines, *([f"Proven, too: {'; '.join(more)}."] if more else [])]


def show_services(report: CapacityReport) -> None:
    """Draws what each service could be given beside its rate; nothing where there is no plan."""
    if report.services:
        column = st.column_config
        columns = {
            "service": column.TextColumn("Service"),
            "rate_rps": column.NumberColumn("Rate (requests/s)", format="localized"),
            "capacity_rps": column.NumberColumn("Could carry (requests/s)", format="localized"),
            "times": column.NumberColumn("Times the rate", format="%.2f"),
        }
        show_table(capacity_table(report), "most_carried", columns=columns, at_once=CARDS_AT_ONCE)
