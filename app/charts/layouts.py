"""
How many GPUs are cut alike, before a change and after it: a fleet of any size in one small picture.

A moved slider replaces it: Streamlit has a new element for a new figure, so Plotly draws from nothing. Its margin is
known beforehand and its legend is one text, which halves that: Plotly draws all of it twice to find a margin.
"""

import plotly.graph_objects as go

from sliceplan.solver.metrics.layouts import Layouts

from .colours import PALETTE
from .legends import Entry, lines_of, room_px

BARE = go.layout.Template(layout={})
"""In place of Plotly's own, of which this picture shows nothing: copying that takes half of the time of all of it."""

MOST_ROWS = 12
"""Kinds of GPUs that have a bar of their own; the rest share one."""

LETTER_PX = 6
"""Width of a letter beside a bar, generously."""

IN_A_LINE = 28
"""Letters of a name in a line, where it can be broken at a plus sign: a page can be narrow."""

FEW = 8
"""GPUs up to which an axis has a tick for each."""


def layout_chart(before: Layouts, after: Layouts) -> go.Figure:
    """Returns a pair of bars for each kind of GPU, the most frequent first; what there is now has its number."""
    kinds = sorted(before.keys() | after.keys(), key=lambda kind: (-max(before[kind], after[kind]), kind))
    has_types = len({gpu for gpu, _ in kinds}) > 1
    names = [_in_lines(f"{gpu}: {layout}" if has_types else layout) for gpu, layout in kinds[:MOST_ROWS]]
    if len(kinds) > MOST_ROWS:
        names.append(f"{len(kinds) - MOST_ROWS} other ways")
    most = max([*before.values(), *after.values()], default=0)
    drawn = (
        ("today's problem", _values(kinds, before), PALETTE[7]),
        ("what-if", _values(kinds, after), PALETTE[0]),
    )
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
        for name, values, colour in drawn
    ]
    longest = max((len(line) for name in names for line in name.split("<br>")), default=0)
    left = 12 + LETTER_PX * longest
    (legend,) = lines_of([Entry(name, colour) for name, _, colour in drawn])
    layout = {
        "template": BARE,
        "height": 80 + room_px(1) + 38 * len(names),
        "margin": {"l": left, "r": 40, "t": room_px(1), "b": 50, "autoexpand": False},
        "bargap": 0.25,
        "showlegend": False,
        "annotations": [
            {"text": legend, "showarrow": False, "x": 0, "xref": "paper", "y": 1, "yref": "paper"}
            | {"xanchor": "left", "yanchor": "bottom", "yshift": 4, "xshift": 8 - left}  # the corner has a button
        ],
        # No tick stands for a part of a GPU.
        "xaxis": {"title": {"text": "number of GPUs cut so"}, "fixedrange": True, "rangemode": "tozero"}
        | ({"dtick": 1} if most <= FEW else {}),
        "yaxis": {"autorange": "reversed", "fixedrange": True},
    }
    return go.Figure(bars, layout)  # at once: an update of a figure's layout takes Plotly several times as long


def _in_lines(name: str) -> str:
    """Returns a kind's name, broken at a plus sign where it is long."""
    at = name.find(" + ", IN_A_LINE // 2)
    return name if len(name) <= IN_A_LINE or at < 0 else f"{name[:at]} +<br>{name[at + 3 :]}"


def _values(kinds: list[tuple[str, str]], counts: Layouts) -> list[int]:
    values = [counts[kind] for kind in kinds[:MOST_ROWS]]
    if len(kinds) > MOST_ROWS:
        values.append(sum(counts[kind] for kind in kinds[MOST_ROWS:]))
    return values
