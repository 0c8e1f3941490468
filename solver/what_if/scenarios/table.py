"""A family of sets of rates as a table: what each planner schedules, the optimum as the line above, bars to scale."""

from rich.table import Table

from ...model.scenario_report import ScenarioReport
from .counts import counts, greatest_possible, possible, reaches

WIDE = 30
"""Characters of the longest bar."""

FULL, BROKEN = "▇", "░"


def scenario_table(report: ScenarioReport) -> Table:
    """Returns a row for the optimum and one for each planner."""
    return _scale_table(report) if report.family.kind == "scale" else _count_table(report)


def _count_table(report: ScenarioReport) -> Table:
    found, total = possible(report), max(1, len(report.scenarios))
    table = _table("schedules", "holds", "breaks")
    table.add_row("the optimum", f"{found.possible:,}", f"{found.possible:,}", "", _bar(found.possible, 0, total))
    for one in counts(report):
        if one.refused == len(report.scenarios):
            table.add_row(one.planner, "-", "-", "-", "refused")
            continue
        bar = _bar(one.holds, one.breaks, total)
        table.add_row(one.planner, f"{one.schedules:,}", f"{one.holds:,}", f"{one.breaks:,}", bar)
    return table


def _scale_table(report: ScenarioReport) -> Table:
    table = _table("up to", "holds to", "no gap to")
    best, is_proven = greatest_possible(report)
    found = reaches(report)
    longest = max([best or 0.0, *(one.greatest or 0.0 for one in found)]) or 1.0
    table.add_row("the optimum", _said(best), "proven" if is_proven else "open", "", _bar(best or 0.0, 0, longest))
    for one in found:
        holding = one.greatest_holding or 0.0
        bar = _bar(holding, max(0.0, (one.greatest or 0.0) - holding), longest)
        table.add_row(one.planner, _said(one.greatest), _said(one.greatest_holding), _said(one.before_failure), bar)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True, overflow="ellipsis", max_width=20)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column(f"{FULL} within the rule, {BROKEN} breaks it", no_wrap=True)
    return table


def _bar(holds: float, breaks: float, of: float) -> str:
    full = round(WIDE * holds / of)
    return FULL * full + BROKEN * (round(WIDE * (holds + breaks) / of) - full)


def _said(factor: float | None) -> str:
    return "-" if factor is None else f"{factor:g}"
