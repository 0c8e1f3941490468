"""How many cores each layer of a model needs, and the blocks of layers that keep their cores (VELTAIR, figure 10)."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.cores.blocks import Block
from sliceplan.solver.cores.quotas import Quotas

from .colours import GREY, PALETTE
from .legends import legend_on_top, room_px

HEIGHT = 400
APART = 0.12
"""Layers that a block's line is shorter by at each end, so that blocks are told apart."""


def layer_chart(quotas: Quotas, names: Sequence[str], threshold: float, cut: Sequence[Block]) -> go.Figure:
    """Returns a bar a layer, in cores, with average and threshold as lines and the blocks as steps over them."""
    numbers = list(range(1, len(quotas.need) + 1))
    most = quotas.average + threshold
    figure = go.Figure()
    figure.add_bar(
        name="a layer needs",
        x=numbers,
        y=quotas.need.tolist(),
        marker={"color": [PALETTE[1] if need > most else PALETTE[4] for need in quotas.need]},
        customdata=[[name, quota / 1000] for name, quota in zip(names, quotas.quota_us.tolist(), strict=True)],
        hovertemplate="layer %{x}, %{customdata[0]}<br>needs %{y} cores to end in %{customdata[1]:.3f} ms"
        "<extra></extra>",
    )
    ends = [at for one in cut for at in (one.first + 0.5 + APART, one.end + 0.5 - APART, None)]
    figure.add_scatter(
        name="a block has",
        x=ends,
        y=[at for one in cut for at in (one.cores, one.cores, None)],
        mode="lines",
        line={"color": PALETTE[0], "width": 4},
        hovertemplate="%{y} cores<extra>block</extra>",
    )
    for name, level, dash in (("average", quotas.average, "dash"), ("average + threshold", most, "dot")):
        figure.add_scatter(
            name=name,
            x=[0.5, len(numbers) + 0.5],
            y=[level, level],
            mode="lines",
            line={"color": GREY, "width": 2, "dash": dash},
            hovertemplate=f"{name}: {level:g} cores<extra></extra>",
        )
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 10, "r": 10, "t": room_px(4, 2), "b": 40},
        legend=legend_on_top(),
        xaxis={"title": "layer, in the order of execution", "range": [0.4, len(numbers) + 0.6], "fixedrange": True},
        yaxis={"title": "cores", "rangemode": "tozero", "fixedrange": True},
    )
    return figure
