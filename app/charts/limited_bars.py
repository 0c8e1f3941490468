"""Horizontal bars of what is carried, below a line that none exceeds: the greatest on top, as tables list them."""

from collections.abc import Sequence

import plotly.graph_objects as go

from .planner_names import ROW_HEIGHT


def under_a_limit(
    figure: go.Figure, values: Sequence[float], *, title: str, limit: float | None, words: str, colour: str, room: float
) -> go.Figure:
    """
    Returns a figure of bars with the line of their limit, if there is one, and axes that hold both.

    Parameters
    ----------
    values
        Of the bars.
    title
        Of the axis.
    words
        What the line says.
    room
        What of the axis is right of the greatest bar or the limit, as a factor.
    """
    if limit is not None:
        figure.add_vline(
            x=limit,
            line={"color": colour, "width": 2},
            annotation={"text": words, "y": 1.0, "yanchor": "bottom", "xanchor": "right"},
        )
    greatest = max([*values, limit or 0.0], default=0.0) or 1.0
    figure.update_layout(
        showlegend=False,
        height=110 + ROW_HEIGHT * len(values),
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        xaxis={"title": title, "range": [0, greatest * room], "fixedrange": True},
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True},
    )
    return figure
