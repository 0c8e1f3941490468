"""The queries/s that schedulers carry on the cores of one CPU, and what no runtime exceeds."""

import plotly.graph_objects as go

from sliceplan.solver.model.cores_report import CoresReport

from .colours import GREY, PALETTE

ROW_PX = 30
ROOM = 1.12
"""What of the axis is right of the bound, as a factor."""


def rates_chart(report: CoresReport) -> go.Figure:
    """Returns a bar a scheduler, in queries/s, the greatest on top; the bound for any runtime is a line."""
    rows = report.schedulers
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        y=[row.scheduler for row in rows],
        x=[row.rps for row in rows],
        marker={"color": PALETTE[0]},
        text=[f"{row.rps:,.0f}" for row in rows],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: %{x:,.1f} queries/s<extra></extra>",
    )
    figure.add_vline(
        x=report.bound_rps,
        line={"color": GREY, "width": 2},
        annotation={
            "text": f"any runtime, at most {report.bound_rps:,.0f}",
            "y": 1.0,
            "yanchor": "bottom",
            "xanchor": "right",
        },
    )
    greatest = max([report.bound_rps, *(row.rps for row in rows)]) or 1.0
    figure.update_layout(
        showlegend=False,
        height=100 + ROW_PX * len(rows),
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        xaxis={
            "title": f"queries/s with {report.quantile:.0%} in time",
            "range": [0, greatest * ROOM],
            "fixedrange": True,
        },
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True},
    )
    return figure
