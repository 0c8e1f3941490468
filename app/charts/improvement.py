"""How a search came closer while it went on: the best plan so far, and what is proven that none is better than."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.model.judged import Judged

from .colours import GREY, PALETTE
from .legends import legend_on_top, room_px

HEIGHT = 200


def improvement_chart(found: Sequence[tuple[float, Judged]]) -> go.Figure:
    """
    Returns two stairs over the seconds of a search, which meet where a plan is proven best.

    Parameters
    ----------
    found
        Seconds, and how good the best plan was then; at least one, in the order of their seconds.
    """
    objective = found[-1][1].objective
    figure = go.Figure()
    lines = (
        ("best plan so far", [one.value for _, one in found], PALETTE[0], "solid"),
        (f"proven: {objective.no_plan}", [one.bound for _, one in found], GREY, "dash"),
    )
    for name, values, colour, dash in lines:
        figure.add_scatter(
            name=name,
            x=[seconds for seconds, _ in found],
            y=values,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash, "shape": "hv"},
            marker={"size": 6},
            text=["" if value is None else objective.shown(value) for value in values],
            hovertemplate="after %{x:.1f} s: %{text}<extra></extra>",
        )
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 10, "r": 20, "t": room_px(2, 2), "b": 40},
        legend=legend_on_top(),
        xaxis={"title": "seconds of the search", "fixedrange": True},
        yaxis={"title": objective.unit, "fixedrange": True},
    )
    return figure
