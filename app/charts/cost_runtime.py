"""What a cheaper plan costs in time: each planner's cost against how long it took."""

from math import log10

import plotly.graph_objects as go

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.plan import Plan, Status

from .colours import MISSES, PALETTE
from .legends import legend_on_top, room_px
from .point_labels import OFF_PX, Label, highest_of, with_sides

LEAST_S = 1e-4
"""Shorter runtimes are drawn here; a logarithmic axis has no 0."""

KINDS = {
    Status.OPTIMAL: ("proven cheapest", PALETTE[2], "star"),
    Status.FEASIBLE: ("serves everything", PALETTE[0], "circle"),
    Status.VIOLATING: ("does not hold", MISSES, "x"),
}


def cost_runtime_chart(comparison: Comparison) -> go.Figure:
    """Returns a point a plan: runtime (s, logarithmic) against USD per hour, with the proven bound as a line."""
    figure = go.Figure()
    for status, (name, colour, symbol) in KINDS.items():
        own = [plan for plan in comparison.plans if plan.status is status and plan.cost_per_hour is not None]
        if not own:
            continue
        figure.add_scatter(
            name=name,
            x=[_runtime_s(plan) for plan in own],
            y=[plan.cost_per_hour for plan in own],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 14, "opacity": 0.85},
            customdata=[plan.planner for plan in own],
            hovertemplate="<b>%{customdata}</b><br>$%{y:,.2f} per hour after %{x:.3g} s<extra></extra>",
        )
    bound = comparison.bound.cost_per_hour
    if bound is not None:
        figure.add_hline(
            y=bound,
            line={"color": PALETTE[7], "width": 2, "dash": "dash"},
            annotation={"text": f"proven: not below ${bound:,.2f}", "yanchor": "top", "xanchor": "right", "yshift": -8},
        )
    labels = _labels(comparison)
    highest = highest_of(labels, bound)
    for label, is_above in with_sides(labels, highest, bound):
        figure.add_annotation(
            x=label.at,
            y=label.cost,
            text="<br>".join(label.names),
            showarrow=False,
            yshift=OFF_PX if is_above else -OFF_PX,
            yanchor="bottom" if is_above else "top",
        )
    figure.update_layout(
        height=420,
        margin={"l": 10, "r": 10, "t": room_px(4, 2), "b": 40},
        legend=legend_on_top(),
        xaxis={"title": "time to plan (s, logarithmic)", "type": "log", "fixedrange": True, "dtick": "D2"},
        yaxis={"title": "USD per hour", "range": [0, highest], "fixedrange": True, "tickprefix": "$"},
    )
    return figure


APART = 0.45
"""Points of one cost that are nearer than so many powers of ten share a label."""


def _labels(comparison: Comparison) -> list[Label]:
    """Returns a label for each point, or one for several neighbours together; the cheapest first."""
    points = sorted(
        (round(plan.cost_per_hour, 2), log10(_runtime_s(plan)), plan.planner)
        for plan in comparison.plans
        if plan.cost_per_hour is not None and plan.status in KINDS
    )
    groups: list[list[tuple[float, float, str]]] = []
    for point in points:
        if groups and groups[-1][-1][0] == point[0] and point[1] - groups[-1][-1][1] < APART:
            groups[-1].append(point)
        else:
            groups.append([point])
    return [
        Label(
            sum(at for _, at, _ in group) / len(group),
            group[0][0],
            tuple(name for _, _, name in group),
            tuple(at for _, at, _ in group),
        )
        for group in groups
    ]


def _runtime_s(plan: Plan) -> float:
    return max(plan.runtime_s, LEAST_S)
