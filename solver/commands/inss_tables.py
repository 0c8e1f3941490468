"""What `sliceplan inss` shows of its report."""

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.inss_problem import InssProblem
    from ..model.inss_report import InssCarried, InssReport

NAMED = 5
"""Models of which the same is missing that are named."""


def schedulers_table(found: "InssReport") -> object:
    """Returns a row a scheduler."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("scheduler", no_wrap=True)
    for title in ("capacity, req/s", "of the limit", "late, full batches", "late, sent early"):
        table.add_column(title, justify="right")
    table.add_column("status")
    for one in found.schedulers:
        cells = [
            "-" if one.capacity_rps is None else f"{one.capacity_rps:,.0f}",
            "-" if one.of_exact is None else f"{one.of_exact:.1%}",
            "-" if one.late_full is None else f"{one.late_full:.1%}",
            "-" if one.late_early is None else f"{one.late_early:.1%}",
        ]
        table.add_row(one.scheduler, *cells, f"{one.status.value}{_misses(one)}")
    return table


def _misses(one: "InssCarried") -> str:
    """Returns of how many models each limit is missed; which ones are in the report."""
    missed = Counter(limit for row in one.served for limit in row.missed)
    return f" ({', '.join(f'{limit} of {count}' for limit, count in missed.items())})" if missed else ""


def episodes_table(found: "InssReport") -> object:
    """Returns a row a way to decide over the rates of an evaluation."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(f"over {found.seconds:,} s", no_wrap=True)
    for title in ("reward", "late", "sum of h/H", "capacity, req/s"):
        table.add_column(title, justify="right")
    for one in found.episodes:
        table.add_row(
            one.way, f"{one.reward:.2f}", f"{one.late_share:.2%}", f"{one.normalised:.2f}", f"{one.capacity_rps:,.0f}"
        )
    return table


def report_lines(problem: "InssProblem", found: "InssReport") -> list[str]:
    """Returns what is said beside the tables: fits, what is taken to be 0, and what is proven."""
    from ..inss.fitting import running_error

    lines = []
    silent: dict[str, list[str]] = {}
    for one in problem.models:
        if (error := running_error(one.running)) is not None:
            lines.append(
                f"{one.model}: running times by {one.running.method}, off its {error.points} points by "
                f"{error.median:.1%} (median), at most {error.max:.1%}."
            )
        missing = [
            what
            for what, is_missing in (
                ("L2 use", one.l2_per_percent == 0 and one.l2_offset == 0),
                ("cache_sensitivity", one.cache_sensitivity == 0),
                ("kernels", one.kernels == 0),
                ("memory", one.memory_mib == 0 and one.memory_mib_per_item == 0),
            )
            if is_missing
        ]
        if missing:
            silent.setdefault(", ".join(missing), []).append(one.model)
    for missed, models in silent.items():
        more = f" and {len(models) - NAMED:,} more" if len(models) > NAMED else ""
        lines.append(f"{', '.join(models[:NAMED])}{more}: nothing is said of {missed}; taken to be 0.")
    if found.limit_weighted is None:
        lines.append(f"Proven: no placement, units and batches keep every limit at {found.spare:g} times the rates.")
    elif found.exact_weighted is None:
        lines.append("No decision was found that keeps every limit; whether there is one is not known.")
    elif found.limit_weighted > found.exact_weighted:
        gap = found.limit_weighted / found.exact_weighted - 1
        lines.append(f"Proven: no decision carries over {gap:.1%} more than exact's; --search-seconds looks longer.")
    lines.append(
        "Capacity is what batches could carry, not what is served. It keeps (b - 1)/rate + latency within its SLO; "
        "Poisson tasks come unevenly, and the late ones are counted."
    )
    return lines
