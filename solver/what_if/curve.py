"""A sweep as a table of its curve, of cost or of capacity: one row for each stretch of values with the same answer."""

from collections.abc import Iterable
from itertools import groupby

from rich.table import Table

from ..model.objective import COST
from ..model.sweep_report import SweepPoint, SweepReport
from ..model.words import short_status
from .order import Index
from .steps import description


def curve_table(report: SweepReport) -> Table:
    """Returns the stretches along the first axis, for each value of the second, and what forces each rise."""
    forced: dict[Index, list[str]] = {}
    for step in report.steps:
        forced.setdefault(step.dearer, []).append(description(step))
    first, *others = report.axes
    objective = report.objective
    table = Table(box=None, pad_edge=False, header_style="bold")
    for axis in (*others, first):
        table.add_column(axis.name, justify="right", no_wrap=True, overflow="ellipsis", max_width=22)
    for column in ("$/h" if objective == COST else objective.unit, "gap"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("GPUs")
    table.add_column("because of")
    for stretch in stretches(report.points):
        start, end = stretch[0], stretch[-1]
        value = start.value(objective)
        at = f"{start.values[0]:g}" if start is end else f"{start.values[0]:g} - {end.values[0]:g}"
        table.add_row(
            *(f"{value:g}" for value in start.values[1:]),
            at,
            "-" if value is None else objective.figure(value).removeprefix("$"),
            _gaps(stretch),
            ", ".join(f"{count:,} {gpu}" for gpu, count in start.gpus.items()) or short_status(start.status),
            "; ".join(text for point in stretch for text in forced.get(point.index, [])) or start.reason or "",
        )
    return table


def stretches(points: Iterable[SweepPoint]) -> list[list[SweepPoint]]:
    """Returns neighbouring points along the first axis that have the same cost, capacity, GPUs and status."""
    ordered = sorted(points, key=lambda point: (point.index[1:], point.index[0]))

    def answer(point: SweepPoint) -> tuple[object, ...]:
        figures = (None if one is None else round(one, 9) for one in (point.cost_per_hour, point.capacity))
        return point.index[1:], point.status, *figures, point.gpus, point.reason

    return [list(same) for _, same in groupby(ordered, key=answer)]


def _gaps(stretch: list[SweepPoint]) -> str:
    gaps = [point.gap for point in stretch if point.gap is not None]
    return f"{max(gaps):.1%}" if gaps else "-"
