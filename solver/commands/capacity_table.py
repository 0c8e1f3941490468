"""What GPUs could carry, for a terminal."""

from typing import Any

from ..model.capacity_report import CapacityReport


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
