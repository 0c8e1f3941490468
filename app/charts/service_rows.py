"""The frame of pictures with a row a service: its height, the labels, the legend above it, and the SLO."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from .colours import MISSES
from .legends import legend_on_top, room_px

ROW_HEIGHT = 30
ABOVE_PX = 20
"""For what is written over the line of the SLO."""


def service_rows(labels: Sequence[str], row_px: int = ROW_HEIGHT, above_px: int = ABOVE_PX) -> dict[str, Any]:
    """
    Returns the layout of a picture with a row for each label, the first on top.

    Parameters
    ----------
    row_px
        Height of a row.
    above_px
        Kept free between the legend and the rows.
    """
    return {
        "height": room_px(4, 2) + above_px + 70 + row_px * len(labels),
        "margin": {"l": 10, "r": 20, "t": room_px(4, 2) + above_px, "b": 40},
        # From the names' edge: beside them it would go below the corner's button where the page is narrow.
        "legend": legend_on_top(traceorder="normal", xref="container"),
        "yaxis": {
            "range": [len(labels) - 0.4, -0.6],
            "tickmode": "array",
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    }


def draw_slo(figure: go.Figure, at: float) -> None:
    """Draws the SLO as a line across all rows; what it is says the axis."""
    figure.add_vline(x=at, line={"color": MISSES, "width": 2, "dash": "dash"})


def mark_slo(figure: go.Figure, at: float) -> None:
    """Draws the SLO as a line across all rows, with its name above."""
    draw_slo(figure, at)
    figure.add_annotation(x=at, y=1, yref="paper", yanchor="bottom", text="SLO", showarrow=False)
