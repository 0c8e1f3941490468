"""What GPUs could carry, for a terminal."""

from typing import Any

from ..model.capacity_report import CapacityReport
from ..model.objective import CAPACITY, SOLO_CAPACITY


def capacity_table(report: CapacityReport) -> Any:
    """Returns one row a service: what it asks for, and what its partitions could carry."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("service", overflow="fold")
    for title in ("rate (requests/s)", "capacity (requests/s)", "times the rate"):
        table.add_column(title, justify="right")
    for one in report.services:
        times = f"{one.capacity_rps / one.rate_rps:,.2f}" if one.rate_rps else "-"
        table.add_row(one.workload, f"{one.rate_rps:,.1f}", f"{one.capacity_rps:,.1f}", times)
    return table


def capacity_lines(report: CapacityReport) -> list[str]:
    """Returns what is found and proven, in sentences."""
    objective = CAPACITY if report.weights == "equal" else SOLO_CAPACITY
    if report.capacity is None:
        return []
    lines = [f"All could carry {objective.shown(report.capacity)} together; what is asked for is kept."]
    if report.limit is None or report.gap is None:
        lines.append("Nothing is proven about more; allow more time.")
    else:
        close = "" if report.gap == 0 else f": this is {objective.gap_in_words(report.gap)}"
        lines.append(f"Proven: {objective.bound_in_words(report.limit)}{close}.")
    for gpu, limit in report.one_more.items():
        lines.append(f"With one more {gpu}: {objective.bound_in_words(limit)}.")
    return lines
