"""
GPUs as bars to scale: one a row with labels where they are few, a grid of small bars where they are many.

All blocks are one trace with a colour each: a trace a service, or a shape a block, takes the browser seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import plotly.graph_objects as go

from sliceplan.solver.model.plan import PlannedGpu

from .colours import MISSES
from .extents import domain_ends
from .legends import Entry, add_legend

ROW_HEIGHT = 50
BESIDE = 0.2
"""Rows' heights that are free above the first and below the last."""
MOST_ROWS = 24
"""GPUs that get a row with labels each; more are drawn as a grid."""
MOST_DRAWN = 1000
"""GPUs in one picture; more are no picture but a wallpaper, and slow."""
TOP_PX = 30
"""For the camera in the picture's corner."""
CELL_HEIGHT = 19
CELL = 0.95
"""Part of a grid's cell that its GPU takes; the rest is the gap to the next one."""
THICK = 0.82
"""Part of a row that its bars take."""
GAP = 0.0016
"""Gap beside each block, part of the picture's width, so that neighbours are told apart on any ground."""
NAME_FITS = 0.06
"""Least part of a GPU's row that has room for a name, or most of it, in a file of the picture."""
ON_ANY_GROUND = "#808080"
"""Text that is read on a light and on a dark page."""


@dataclass(frozen=True)
class Look:
    """How a block is drawn."""

    colour: str
    pattern: str = ""
    """Plotly's fill pattern: one of / \\ x - | + . or none."""
    opacity: float = 1.0
    text: str = ""
    text_colour: str = ON_ANY_GROUND
    is_outlined: bool = False
    """Breaks a promise."""
    name: str = ""
    """In full, of a text that begins with it or with what is left of it."""
    key: str = ""
    """What stands for the name where there is no room for it; the legend says it."""


@dataclass(frozen=True)
class Bar:
    """A rectangle on a GPU's axis."""

    gpu_id: str
    start: float
    """Part of the axis, 0 to 1."""
    width: float
    hover: str
    look: Look


def gpu_bars(
    gpus: Sequence[PlannedGpu], bars: Sequence[Bar], legend: Sequence[tuple[str, Look]], labels: Mapping[str, str]
) -> go.Figure:
    """
    Returns the picture of some GPUs, at most MOST_DRAWN of them in their order.

    Parameters
    ----------
    legend
        Names of looks.
    labels
        What stands beside a GPU's row, by its id, where each has a row.
    """
    rows, columns = _rows(gpus)
    is_grid = columns > 1
    figure = go.Figure()
    place = {gpu.id: (row, column) for row, (_, own) in enumerate(rows) for column, gpu in enumerate(own)}
    _add_bars(figure, bars, place, columns)
    if not is_grid:
        _add_domains(figure, gpus)
    ticks = [label if is_grid else labels.get(own[0].id, own[0].id) for label, own in rows]
    height = CELL_HEIGHT if is_grid else ROW_HEIGHT
    entries = [
        Entry(name, MISSES, "□") if look.is_outlined else Entry(name, look.colour, key=look.key)
        for name, look in legend
    ]
    foot = add_legend(figure, entries, with_keys=any(bar.look.key and bar.width < NAME_FITS for bar in bars))
    figure.update_layout(
        barmode="overlay",
        hovermode="closest",
        height=TOP_PX + foot + round(height * (len(rows) + BESIDE)),
        margin={"l": 10, "r": 10, "t": TOP_PX, "b": foot},
        xaxis={"visible": False, "range": [0, columns], "fixedrange": True},
        yaxis={
            "range": [len(rows) - 0.5 + BESIDE / 2, -0.5 - BESIDE / 2],
            "tickmode": "array",
            "tickvals": [row for row, tick in enumerate(ticks) if tick],
            "ticktext": [tick for tick in ticks if tick],
            "tickfont": {"size": 10 if is_grid else 12},
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        uniformtext={"minsize": 10, "mode": "hide"} if not is_grid else {},
    )
    return figure


def _add_bars(figure: go.Figure, bars: Sequence[Bar], place: Mapping[str, tuple[int, int]], columns: int) -> None:
    """Adds the bars at the row and column of their GPUs."""
    is_grid = columns > 1
    scale = CELL if is_grid else 1.0
    insets = [min(GAP * columns, 0.2 * bar.width * scale) for bar in bars]
    figure.add_bar(
        orientation="h",
        showlegend=False,
        y=[place[bar.gpu_id][0] for bar in bars],
        base=[round(place[bar.gpu_id][1] + bar.start * scale, 5) for bar in bars],
        x=[round(bar.width * scale - inset, 5) for bar, inset in zip(bars, insets, strict=True)],
        width=THICK,
        marker=_marker([bar.look for bar in bars], 3 if is_grid else 4),
        hovertext=[bar.hover for bar in bars],
        hovertemplate="%{hovertext}<extra></extra>",
        **({"textposition": "none"} if is_grid else _texts(bars)),
    )


def _add_domains(figure: go.Figure, gpus: Sequence[PlannedGpu]) -> None:
    """Adds a thin line between two L3 domains of each CPU, a row each."""
    ends = [(row, at) for row, gpu in enumerate(gpus) for at in domain_ends(gpu)]
    if ends:
        figure.add_scatter(
            name="L3 domains",
            mode="lines",
            x=[x for _, at in ends for x in (at, at, None)],
            y=[y for row, _ in ends for y in (row - THICK / 2, row + THICK / 2, None)],
            line={"color": ON_ANY_GROUND, "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )


def _marker(looks: Sequence[Look], outline: int) -> dict[str, object]:
    marker: dict[str, object] = {
        "color": [look.colour for look in looks],
        "line": {"color": MISSES, "width": [outline if look.is_outlined else 0 for look in looks]},
    }
    if any(look.opacity < 1 for look in looks):
        marker["opacity"] = [look.opacity for look in looks]
    if any(look.pattern for look in looks):
        marker["pattern"] = {
            "shape": [look.pattern for look in looks],
            "fillmode": "overlay",
            "size": 5,
            "solidity": 0.35,
        }
    return marker


def _texts(bars: Sequence[Bar]) -> dict[str, object]:
    return {
        **names_for([(bar.look.name, bar.look.key) for bar in bars]),
        "text": [bar.look.text for bar in bars],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": [bar.look.text_colour for bar in bars]},
        "constraintext": "inside",
    }


def names_for(bars: Sequence[tuple[str, str]]) -> dict[str, object]:
    """
    Returns what a trace of bars needs so that in_browser/names_fill_their_bars.js fits names to the width of the page.

    Parameters
    ----------
    bars
        Of each its name in full, escaped, and what stands on it where there is no room for that; both may be empty.
    """
    return {"customdata": [list(bar) for bar in bars], "meta": "names"} if any(name for name, _ in bars) else {}


def _rows(gpus: Sequence[PlannedGpu]) -> tuple[list[tuple[str, list[PlannedGpu]]], int]:
    """Returns the rows, each with its label, and the columns of the grid; one column: a row a GPU."""
    if len(gpus) <= MOST_ROWS:
        return [("", [gpu]) for gpu in gpus], 1
    by_node = [(node, list(own)) for (node, _), own in groupby(gpus, key=lambda gpu: (gpu.node, gpu.gpu))]
    # Many nodes with few GPUs each would leave most of their rows empty.
    named = all(node is not None for node, _ in by_node) and len(gpus) >= 4 * len(by_node)
    if named:
        columns = 8 if max(len(own) for _, own in by_node) <= 8 else 10
        groups = [(f"{node}", own) for node, own in by_node]
    else:
        columns = 5 if len(gpus) <= 100 else 10 if len(gpus) <= 500 else 20
        groups = [("", list(own)) for _, own in groupby(gpus, key=lambda gpu: gpu.gpu)]
    rows = []
    for name, own in groups:
        for first in range(0, len(own), columns):
            label = (name if first == 0 else "") if named else own[first].id
            rows.append((label, own[first : first + columns]))
    return rows, columns
