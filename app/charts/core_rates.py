"""The queries/s that schedulers carry on the cores of one CPU, and what no runtime exceeds."""

import plotly.graph_objects as go

from sliceplan.solver.model.cores_report import CoresReport

from .colours import GREY, PALETTE
from .limited_bars import under_a_limit

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
    return under_a_limit(
        figure,
        [row.rps for row in rows],
        title=f"queries/s with {report.quantile:.0%} in time",
        limit=report.bound_rps,
        words=f"any runtime, at most {report.bound_rps:,.0f}",
        colour=GREY,
        room=ROOM,
    )
