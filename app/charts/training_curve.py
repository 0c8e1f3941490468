"""How an actor learned: its reward and its late tasks after so many episodes, beside the exact plans."""

import plotly.graph_objects as go

from sliceplan.solver.inss.learning.training_curve import TrainingCurve

from .colours import MISSES, PALETTE
from .legends import legend_on_top, room_px

HEIGHT = 380


def training_chart(curve: TrainingCurve) -> go.Figure:
    """Returns two pictures over each other, of the same episodes: reward above, late tasks in percent below."""
    episodes = [one.episode for one in curve.points]
    figure = go.Figure()
    for name, axis, values, colour, unit in (
        ("reward a second", "y", [one.reward for one in curve.points], PALETTE[0], ""),
        ("late tasks", "y2", [100 * one.late_share for one in curve.points], PALETTE[5], " %"),
    ):
        figure.add_scatter(
            name=name,
            x=episodes,
            y=values,
            yaxis=axis,
            mode="lines+markers",
            line={"color": colour, "width": 2},
            hovertemplate=f"after %{{x}} episodes: %{{y:.3g}}{unit}<extra>{name}</extra>",
        )
    if curve.exact is not None:
        figure.add_scatter(
            name="exact plans",
            x=[0, max(episodes, default=1)],
            y=[curve.exact.reward] * 2,
            mode="lines",
            line={"color": MISSES, "width": 2, "dash": "dash"},
            hovertemplate="exact plans: %{y:.3g}<extra></extra>",
        )
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 10, "r": 20, "t": room_px(3, 2), "b": 40},
        legend=legend_on_top(),
        xaxis={"title": "episodes of training", "rangemode": "tozero", "fixedrange": True, "anchor": "y2"},
        yaxis={"title": "reward a second", "domain": [0.45, 1], "fixedrange": True},
        yaxis2={
            "title": "late tasks",
            "domain": [0, 0.33],
            "rangemode": "tozero",
            "ticksuffix": " %",
            "fixedrange": True,
        },
    )
    return figure
