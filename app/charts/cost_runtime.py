"""How long each planner took: quick ones beside what their plans cost, a row each."""

from math import log10

import plotly.graph_objects as go

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.plan import Plan, Status

from .colours import MISSES, PALETTE
from .legends import CAMERA_PX, Entry, add_legend
from .planner_names import ABOVE_PX, ROW_HEIGHT, name_planners

TOP_PX, AXIS_PX = CAMERA_PX + ABOVE_PX, 55
"""Above the first row and below the last."""

LEAST_S = 1e-4
"""Shorter runtimes are drawn here; a logarithmic axis has no 0."""

KINDS = {
    Status.OPTIMAL: ("proven cheapest", PALETTE[2], "star"),
    Status.FEASIBLE: ("serves everything", PALETTE[0], "circle"),
    Status.VIOLATING: ("does not hold", MISSES, "x"),
}

SIGNS = {"star": "★", "circle": "●", "x": "✖"}
"""In the legend."""

LEFT, RIGHT = 1.5, 3.0
"""Times the shortest and the longest runtime that the axis reaches, so that costs have room beside their points."""


def cost_runtime_chart(comparison: Comparison) -> go.Figure:
    """Returns a row a plan, the cheapest on top and of the same cost the quickest: runtime (s, logarithmic), USD/h."""
    drawn = sorted(
        (plan for plan in comparison.plans if plan.cost_per_hour is not None and plan.status in KINDS),
        key=lambda plan: (round(plan.cost_per_hour or 0.0, 2), plan.runtime_s),
    )
    times = [_runtime_s(plan) for plan in drawn] or [1.0]
    figure = go.Figure()
    for status, (name, colour, symbol) in KINDS.items():
        own = [plan for plan in drawn if plan.status is status]
        if not own:
            continue
        figure.add_scatter(
            name=name,
            x=[_runtime_s(plan) for plan in own],
            y=[plan.planner for plan in own],
            mode="markers+text",
            marker={"color": colour, "symbol": symbol, "size": 13},
            text=[f"  ${plan.cost_per_hour:,.2f}" for plan in own],
            textposition="middle right",
            cliponaxis=False,
            customdata=[plan.cost_per_hour for plan in own],
            hovertemplate="<b>%{y}</b><br>$%{customdata:,.2f} per hour after %{x:.3g} s<extra></extra>",
        )
    drawn_kinds = {points.name for points in figure.data}
    entries = [Entry(name, colour, SIGNS[symbol]) for name, colour, symbol in KINDS.values() if name in drawn_kinds]
    foot_px = add_legend(figure, entries, axis_px=AXIS_PX)
    figure.update_layout(
        height=TOP_PX + AXIS_PX + foot_px + ROW_HEIGHT * len(drawn),
        margin={"l": 10, "r": 60, "t": TOP_PX, "b": AXIS_PX + foot_px},
        xaxis={
            "title": "time to plan (s, logarithmic)",
            "type": "log",
            "fixedrange": True,
            "dtick": 1,
            "range": [log10(min(times) / LEFT), log10(max(times) * RIGHT)],
        },
        yaxis={
            "autorange": "reversed",
            "fixedrange": True,
            "categoryorder": "array",
            "categoryarray": [plan.planner for plan in drawn],
        },
    )
    name_planners(figure, [plan.planner for plan in drawn])
    return figure


def _runtime_s(plan: Plan) -> float:
    return max(plan.runtime_s, LEAST_S)
