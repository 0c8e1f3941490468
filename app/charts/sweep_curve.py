"""A sweep as a picture: cost or capacity over one axis with what is proven about it, or over two as a map."""

import plotly.graph_objects as go

from sliceplan.solver.model.objective import COST, Objective, Sense
from sliceplan.solver.model.sweep_report import Axis, CostStep, SweepPoint
from sliceplan.solver.model.words import short_status
from sliceplan.solver.what_if.steps import description
from sliceplan.solver.wording.axis_words import axis_in_words

from .colours import PALETTE
from .legends import legend_on_top, room_px
from .texts import in_chart, shortened

FOUND, PROVEN = PALETTE[0], "rgba(230, 159, 0, 0.35)"

MOST_NOTES = 6
"""Steps that carry their reason in the picture, the highest; the others have it on hover and in the table."""

NOTE_LENGTH = 34

LEFT_END = 0.3
"""Part of the axis in which a reason would not fit to the left of its step."""


def axis_title(axis: Axis) -> str:
    """Returns what an axis varies, with its unit."""
    return axis_in_words(axis.kind, None if axis.of is None else in_chart(axis.of))


def sweep_chart(
    axes: tuple[Axis, ...],
    points: tuple[SweepPoint, ...],
    steps: tuple[CostStep, ...] = (),
    *,
    objective: Objective = COST,
) -> go.Figure:
    """Returns the picture of the points that there are so far, by the objective of the problem that is swept."""
    return _curve(axes[0], points, steps, objective) if len(axes) == 1 else _map(axes, points, objective)


def _curve(axis: Axis, points: tuple[SweepPoint, ...], steps: tuple[CostStep, ...], objective: Objective) -> go.Figure:
    reasons: dict[tuple[int, ...], str] = {}
    for step in steps:
        reasons[step.dearer] = f"+${step.added_per_hour:,.2f}/h: {description(step)}"
    x = [point.values[0] for point in points]
    figure = go.Figure()
    line = {"shape": "hv", "width": 0}
    found = [point.value(objective) for point in points]
    proven = [None if value is None else point.bound(objective) for point, value in zip(points, found, strict=True)]
    what = "cost of the cheapest plan found" if objective == COST else "what the best plan found could carry"
    figure.add_scatter(x=x, y=proven, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        name="between the proven bound and the cost" if objective == COST else "up to the proven limit",
        x=x,
        y=found,
        mode="lines",
        line=line,
        fill="tonexty",
        fillcolor=PROVEN,
        hoverinfo="skip",
    )
    figure.add_scatter(
        name=what,
        x=x,
        y=found,
        mode="lines+markers",
        line={"shape": "hv", "width": 2, "color": FOUND},
        marker={"size": 4 if len(points) > 60 else 6, "color": FOUND},
        customdata=[_hover(point, reasons.get(point.index), objective) for point in points],
        hovertemplate="%{customdata}<extra></extra>",
    )
    without = [point for point in points if point.value(objective) is None]
    if without:
        figure.add_scatter(
            name="no plan",
            x=[point.values[0] for point in without],
            y=[0] * len(without),
            mode="markers",
            marker={"symbol": "x", "size": 7, "color": PALETTE[5]},
            customdata=[_hover(point, None, objective) for point in without],
            hovertemplate="%{customdata}<extra></extra>",
        )
    _add_notes(figure, axis, points, steps)
    figure.update_layout(
        height=430,
        margin={"l": 10, "r": 20, "t": room_px(4, 2), "b": 10},
        legend=legend_on_top(),
        xaxis={"title": axis_title(axis), "range": _padded(axis.values)},
        # Without points no scale is known.
        yaxis={
            "title": objective.unit,
            "tickprefix": _prefix(objective),
            "rangemode": "tozero",
            "showticklabels": bool(points),
        },
    )
    return figure


def _add_notes(figure: go.Figure, axis: Axis, points: tuple[SweepPoint, ...], steps: tuple[CostStep, ...]) -> None:
    """Adds who forces the highest steps."""
    by_index = {point.index: point for point in points}
    highest = sorted(steps, key=lambda step: -step.added_per_hour)[:MOST_NOTES]
    for number, step in enumerate(sorted(highest, key=lambda step: step.dearer)):
        point = by_index.get(step.dearer)
        if point is None or point.cost_per_hour is None or step.cause == "unknown":
            continue
        at_left_end = point.values[0] - axis.values[0] < LEFT_END * (axis.values[-1] - axis.values[0])
        figure.add_annotation(
            x=point.values[0],
            y=point.cost_per_hour,
            text=in_chart(shortened(description(step).partition(": ")[2], NOTE_LENGTH)),
            showarrow=True,
            arrowhead=2,
            arrowcolor=PALETTE[7],
            # Up and to the left, where a rising curve leaves room; at the left end to the right, within the picture.
            xanchor="left" if at_left_end else "right",
            ax=14 if at_left_end else -14,
            ay=-26 - 18 * (number % 2),
            font={"size": 11},
        )


def _map(axes: tuple[Axis, ...], points: tuple[SweepPoint, ...], objective: Objective) -> go.Figure:
    first, second = axes
    found: list[list[float | None]] = [[None] * len(first.values) for _ in second.values]
    texts = [[""] * len(first.values) for _ in second.values]
    for point in points:
        i, j = point.index
        found[j][i] = point.value(objective)
        texts[j][i] = _hover(point, None, objective)
    figure = go.Figure(
        go.Heatmap(
            x=list(first.values),
            y=list(second.values),
            z=found,
            customdata=texts,
            hovertemplate="%{customdata}<extra></extra>",
            colorscale="Cividis",
            colorbar={"title": "USD/h" if objective == COST else objective.unit, "tickprefix": _prefix(objective)},
            hoverongaps=False,
        )
    )
    figure.update_layout(
        height=480,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis={"title": axis_title(first), "range": _half_cells(first.values)},
        yaxis={"title": axis_title(second), "range": _half_cells(second.values)},
    )
    return figure


def _prefix(objective: Objective) -> str:
    return "$" if objective == COST else ""


def _hover(point: SweepPoint, reason: str | None, objective: Objective) -> str:
    at = ", ".join(f"{value:g}" for value in point.values)
    found, bound = point.value(objective), point.bound(objective)
    if found is None:
        return f"<b>at {at}: no plan</b><br>{in_chart(point.reason or short_status(point.status))}"
    lines = [f"<b>at {at}: {objective.shown(found)}</b>"]
    lines.append(", ".join(f"{count:,} {gpu}" for gpu, count in point.gpus.items()))
    if bound is not None:
        least_or_most = "least" if objective.sense is Sense.LEAST else "most"
        lines.append(f"proven: at {least_or_most} {objective.figure(bound)}")
    if reason:
        lines.append(in_chart(reason))
    return "<br>".join(lines)


def _padded(values: tuple[float, ...]) -> list[float]:
    """Returns the whole range of an axis, so that the picture keeps still while points arrive."""
    room = 0.03 * (values[-1] - values[0]) or 0.5
    return [values[0] - room, values[-1] + room]


def _half_cells(values: tuple[float, ...]) -> list[float]:
    if len(values) == 1:
        return [values[0] - 0.5, values[0] + 0.5]
    return [values[0] - (values[1] - values[0]) / 2, values[-1] + (values[-1] - values[-2]) / 2]
