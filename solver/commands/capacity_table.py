"""What GPUs could carry, as text; tables of rich take half a second for 2,000 services."""

from ..model.capacity_report import CapacityReport

TITLES = ("service", "rate (requests/s)", "capacity (requests/s)", "times the rate")


def capacity_table(report: CapacityReport) -> str:
    """Returns one row a service: what it asks for, and what its partitions could carry."""
    from rich.cells import cell_len

    rows = [TITLES]
    for one in report.services:
        times = f"{one.capacity_rps / one.rate_rps:,.2f}" if one.rate_rps else "-"
        rows.append((one.workload, f"{one.rate_rps:,.1f}", f"{one.capacity_rps:,.1f}", times))
    first, *others = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            (
                name + " " * (first - cell_len(name)),
                *(figure.rjust(width) for figure, width in zip(figures, others, strict=True)),
            )
        )
        for name, *figures in rows
    )
