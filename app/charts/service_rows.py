"""The frame of pictures with a row a service: its height, the labels, the legend above it, and the SLO."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from .colours import MISSES
from .legends import legend_on_top, room_px

ROW_HEIGHT = 30
ABOVE_PX = 20
"""For what is written over the line of the SLO."""


def service_rows(labels: Sequence[str]) -> dict[str, Any]:
    """Returns the layout of a picture with a row for each label, the first on top."""
    return {
        "height": room_px(4, 2) + ABOVE_PX + 70 + ROW_HEIGHT * len(labels),
        "margin": {"l": 10, "r": 20, "t": room_px(4, 2) + ABOVE_PX, "b": 40},
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


def mark_slo(figure: go.Figure, at: float) -> None:
    """Draws the SLO as a line across all rows."""
    figure.add_vline(x=at, line={"color": MISSES, "width": 2, "dash": "dash"})
    figure.add_annotation(x=at, y=1, yref="paper", yanchor="bottom", text="SLO", showarrow=False)
