"""Sweeps as tables for other programs: CSV, one row a point."""

import csv
import io

from ..model.sweep_report import SweepReport


def sweep_csv(report: SweepReport) -> str:
    """Returns a header and one row a point, in the order of their indices; an unknown figure is empty."""
    types = sorted({gpu for point in report.points for gpu in point.gpus})
    figures: tuple[str, ...] = ("status", "cost_per_hour", "bound_per_hour", "gap", "runtime_s", "retries", "reason")
    if report.weights is not None:
        figures += ("capacity", "capacity_limit")
    forced_by: dict[tuple[int, ...], list[str]] = {}
    for step in report.steps:
        forced_by.setdefault(step.dearer, []).extend(step.services)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*(axis.name for axis in report.axes), *figures, *types, "forced_by"])
    for point in report.points:
        known = ["" if (value := getattr(point, name)) is None else value for name in figures]
        gpus = [point.gpus.get(gpu, 0) if point.cost_per_hour is not None else "" for gpu in types]
        rows.writerow([*point.values, *known, *gpus, " ".join(dict.fromkeys(forced_by.get(point.index, [])))])
    return text.getvalue()
