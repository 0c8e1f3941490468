"""What a cheaper plan costs in time: each planner's cost against how long it took."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10

import plotly.graph_objects as go

from sliceplan.solver.comparison import Comparison
from sliceplan.solver.model.plan import Plan, Status

from .colours import MISSES, PALETTE

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
    # The label of each fits above it, if it is not most of the picture.
    highest = max((label.cost / max(1 - (OFF_PX + label.height_px) / PLOT_PX[1], 0.5) for label in labels), default=1.0)
    for label, is_above in _sides(labels, highest, bound):
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
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0},
        xaxis={"title": "time to plan (s, logarithmic)", "type": "log", "fixedrange": True, "dtick": "D2"},
        yaxis={"title": "USD per hour", "range": [0, highest], "fixedrange": True, "tickprefix": "$"},
    )
    return figure


APART = 0.45
"""Points of one cost that are nearer than so many powers of ten share a label."""

PLOT_PX = (740, 320)
"""Width and height of the plot where the page is 1,280 px wide, about."""

LETTER_PX, LINE_PX, OFF_PX = 6.5, 16, 14


@dataclass(frozen=True)
class _Label:
    at: float
    """Middle of its points, as power of ten of seconds."""
    cost: float
    names: tuple[str, ...]
    points: tuple[float, ...]
    """Where its points are, as `at`."""

    @property
    def height_px(self) -> float:
        return LINE_PX * len(self.names)


def _labels(comparison: Comparison) -> list[_Label]:
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
        _Label(
            sum(at for _, at, _ in group) / len(group),
            group[0][0],
            tuple(name for _, _, name in group),
            tuple(at for _, at, _ in group),
        )
        for group in groups
    ]


def _sides(labels: Sequence[_Label], highest: float, bound: float | None) -> Iterator[tuple[_Label, bool]]:
    """Yields each label and whether it goes above its points: below only where something is above and nothing below."""
    ends = [at for label in labels for at in label.points]
    width, height = PLOT_PX
    per_power = width / max(1.1 * (max(ends, default=0.0) - min(ends, default=0.0)), 0.1)
    taken = [
        _Box(at * per_power, label.cost / highest * height - OFF_PX / 2, OFF_PX, OFF_PX)
        for label in labels
        for at in label.points
    ]
    if bound is not None:
        # What the line is, at its right end below it.
        taken.append(_Box(max(ends, default=0.0) * per_power, bound / highest * height - 30, 24 * LETTER_PX, LINE_PX))
    for label in labels:
        tall = label.height_px
        foot = label.cost / highest * height
        wide = LETTER_PX * max(map(len, label.names))
        above, below = (
            _Box(label.at * per_power, y, wide, tall) for y in (foot + OFF_PX - 4, foot - OFF_PX + 4 - tall)
        )
        is_above = not any(map(above.meets, taken)) or any(map(below.meets, taken)) or foot < tall + OFF_PX
        taken.append(above if is_above else below)
        yield label, is_above


@dataclass(frozen=True)
class _Box:
    """A rectangle in pixels."""

    middle: float
    bottom: float
    width: float
    height: float

    def meets(self, other: "_Box") -> bool:
        return (
            2 * abs(self.middle - other.middle) < self.width + other.width
            and self.bottom < other.bottom + other.height
            and other.bottom < self.bottom + self.height
        )


def _runtime_s(plan: Plan) -> float:
    return max(plan.runtime_s, LEAST_S)
