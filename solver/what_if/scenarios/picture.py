"""A family of sets of rates as a picture: a bar for each planner, and the optimum as the line that none passes."""

from xml.sax.saxutils import escape

from ...model.scenario_report import ScenarioReport
from .counts import counts, greatest_possible, possible, reaches

LEFT, BAR, RIGHT = 150, 460, 70
"""Pixels for names, the longest bar, and figures."""

ROW, TOP = 26, 46

HOLDS, BREAKS, LINE, TEXT = "#2f6f9f", "#e3a587", "#1a1a1a", "#333333"


def scenario_svg(report: ScenarioReport) -> str:
    """Returns an SVG document; a bar is what a planner schedules, what breaks the rule in a lighter colour."""
    rows, best, most, title = _scale(report) if report.family.kind == "scale" else _counted(report)
    height = TOP + ROW * len(rows) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + BAR + RIGHT}" height="{height}" '
        f'font-family="sans-serif" font-size="13" fill="{TEXT}">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-weight="bold">{escape(title)}</text>',
    ]
    for i, (name, holds, schedules) in enumerate(rows):
        y = TOP + ROW * i
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{BAR * schedules / most:.1f}" height="18" fill="{BREAKS}"/>',
            f'<rect x="{LEFT}" y="{y}" width="{BAR * holds / most:.1f}" height="18" fill="{HOLDS}"/>',
            f'<text x="{LEFT + BAR * max(holds, schedules) / most + 5:.1f}" y="{y + 14}">{holds:,g}</text>',
        ]
    if best is not None:
        x, end = LEFT + BAR * best / most, TOP + ROW * len(rows)
        parts += [
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 12}" y2="{end}" stroke="{LINE}" stroke-width="2"/>',
            f'<text x="{x:.1f}" y="{end + 16}" text-anchor="middle">the optimum: {best:,g}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


Rows = list[tuple[str, float, float]]
"""Name, what holds, what is scheduled."""


def _counted(report: ScenarioReport) -> tuple[Rows, float | None, float, str]:
    rows: Rows = [(one.planner, one.holds, one.schedules) for one in counts(report)]
    total = len(report.scenarios)
    title = f"Sets of rates scheduled on {report.gpus:,} GPUs, of {total:,}; light: against the rule"
    is_known = any(one.optimum is not None for one in report.scenarios)
    return rows, possible(report).possible if is_known else None, max(1, total), title


def _scale(report: ScenarioReport) -> tuple[Rows, float | None, float, str]:
    rows: Rows = [(one.planner, one.greatest_holding or 0.0, one.greatest or 0.0) for one in reaches(report)]
    best, _ = greatest_possible(report)
    most = max([best or 0.0, *(one[2] for one in rows)]) or 1.0
    return rows, best, most, f"Greatest multiple of the rates on {report.gpus:,} GPUs; light: against the rule"
