"""How many GPUs are cut alike, before a change and after it: a fleet of any size in one small picture."""

import plotly.graph_objects as go

from sliceplan.solver.metrics.layouts import Layouts

from .colours import PALETTE
from .legends import legend_on_top, room_px

MOST_ROWS = 12
"""Kinds of GPUs that have a bar of their own; the rest share one."""

FEW = 8
"""GPUs up to which an axis has a tick for each."""


def layout_chart(before: Layouts, after: Layouts) -> go.Figure:
    """Returns a pair of bars for each kind of GPU, the most frequent first; what there is now has its number."""
    kinds = sorted(before.keys() | after.keys(), key=lambda kind: (-max(before[kind], after[kind]), kind))
    has_types = len({gpu for gpu, _ in kinds}) > 1
    names = [f"{gpu}: {layout}" if has_types else layout for gpu, layout in kinds[:MOST_ROWS]]
    if len(kinds) > MOST_ROWS:
        names.append(f"{len(kinds) - MOST_ROWS} other ways")
    most = max([*before.values(), *after.values()], default=0)
    bars = [
        go.Bar(
            name=name,
            orientation="h",
            y=names,
            x=values,
            marker={"color": colour},
            text=values,
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}<br>%{x} GPUs<extra>" + name + "</extra>",
        )
        for name, values, colour in (
            ("today's problem", _values(kinds, before), PALETTE[7]),
            ("what-if", _values(kinds, after), PALETTE[0]),
        )
    ]
    layout = {
        "height": 80 + room_px(2, 1) + 38 * len(names),
        "margin": {"l": 10, "r": 40, "t": room_px(2, 1), "b": 10},
        "bargap": 0.25,
        "legend": legend_on_top(traceorder="normal"),
        # No tick stands for a part of a GPU.
        "xaxis": {"title": {"text": "GPUs"}, "fixedrange": True, "rangemode": "tozero"}
        | ({"dtick": 1} if most <= FEW else {}),
        "yaxis": {"autorange": "reversed", "fixedrange": True, "automargin": True},
    }
    return go.Figure(bars, layout)  # at once: an update of a figure's layout takes Plotly several times as long


def _values(kinds: list[tuple[str, str]], counts: Layouts) -> list[int]:
    values = [counts[kind] for kind in kinds[:MOST_ROWS]]
    if len(kinds) > MOST_ROWS:
        values.append(sum(counts[kind] for kind in kinds[MOST_ROWS:]))
    return values
