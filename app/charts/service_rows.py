"""The frame of pictures with a row a service: its height, the labels, the legend above it, and the SLO."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from .colours import MISSES

ROW_HEIGHT = 30


def service_rows(labels: Sequence[str]) -> dict[str, Any]:
    """Returns the layout of a picture with a row for each label, the first on top."""
    return {
        "height": 140 + ROW_HEIGHT * len(labels),
        "margin": {"l": 10, "r": 20, "t": 30, "b": 40},
        "legend": {
            "orientation": "h",
            "yanchor": "bottom",
            "y": 1 + 30 / (70 + ROW_HEIGHT * len(labels)),
            "x": 0,
            "traceorder": "normal",
        },
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
