"""
Where a legend stands: at the upper edge of its picture, in room that is kept for it.

Plotly makes room for a legend when it first draws it, and not when the picture becomes wider or narrower: it then
stands on the bars of whoever turns a phone or opens the sidebar.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

import plotly.graph_objects as go

from .colours import text_on
from .texts import in_chart, letters_of

ROW_PX = 20

IN_A_ROW = 4
"""Entries beside each other in half of a page that is 1,280 px wide."""

BELOW_PX = 10
"""Between the legend and the picture."""


def room_px(entries: int, in_a_row: int = IN_A_ROW) -> int:
    """Returns the height that so many entries take; without any, the picture's usual margin."""
    return BELOW_PX + ROW_PX * -(-entries // in_a_row)


def legend_on_top(**more: Any) -> dict[str, Any]:
    """Returns the layout of a legend at the upper edge; the upper margin is `room_px`."""
    return {"orientation": "h", "yref": "container", "yanchor": "top", "y": 1.0, "x": 0} | more


CAMERA_PX = 26
"""Height of the button in the upper right corner, which a legend of a narrow picture would stand below."""


def legend_below_camera(height_px: int) -> dict[str, Any]:
    """Returns the layout of a legend at the upper edge of a picture of a height, the corner's button left free."""
    return legend_on_top(y=1 - CAMERA_PX / height_px)


def legend_at_the_foot(**more: Any) -> dict[str, Any]:
    """Returns the layout of a legend at the lower edge; the lower margin has `room_px` beside the axis' own."""
    return {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0.0, "x": 0} | more


LETTERS_IN_A_LINE = 100


@dataclass(frozen=True)
class Entry:
    """What a colour, or a sign, of a picture means."""

    name: str
    colour: str
    """As #RRGGBB or rgba(...)."""
    sign: str = "■"
    """□ is an outline."""
    key: str = ""
    """What stands on what is too narrow for its name."""


def add_legend(figure: go.Figure, entries: Sequence[Entry], *, axis_px: int = 0, with_keys: bool = False) -> int:
    """
    Adds a legend below a picture, and returns the height that it takes: the lower margin has it beside `axis_px`.

    It is for files alone: the page shows what is above it, and the same legend in words over the picture, as wide as
    the page is (widgets/pictures.py). Plotly's own has one name in a row where a page is narrow.

    Parameters
    ----------
    axis_px
        Of the margin, what an axis takes.
    with_keys
        Whether names have their keys before them; the page has them where they stand on something.
    """
    lines = lines_of(entries, with_keys=with_keys)
    foot_px = BELOW_PX + ROW_PX * len(lines)
    if lines:
        place = {"x": 0, "xref": "paper", "xanchor": "left", "y": 0, "yref": "paper", "yanchor": "top"}
        text = "<br>".join(lines)
        figure.add_annotation(text=text, align="left", showarrow=False, yshift=-axis_px, **place)
    named = [[in_chart(one.name), one.colour, one.sign, one.key, text_on(one.colour)] for one in entries]
    # What pictures.py reads; the last is the colour of text on the one before.
    figure.update_layout(showlegend=False, meta={"legend": named, "foot_px": foot_px})
    return foot_px


def legend_of(figure: go.Figure) -> tuple[list[Entry], int]:
    """Returns the entries that `add_legend` gave a picture, and the height that they take; none: it did not."""
    meta = figure.layout.meta or {}
    entries = [Entry(unescape(name), *looks) for name, *looks, _ in meta.get("legend", ())]
    return entries, meta.get("foot_px", 0)


def lines_of(entries: Sequence[Entry], *, with_keys: bool = False) -> list[str]:
    """Returns a legend as lines of text, a coloured sign before each name."""
    lines: list[str] = []
    free = 0
    for one in entries:
        name = f"{one.key} {one.name}" if with_keys and one.key else one.name
        if letters_of(name) + 4 > free:
            lines.append("")
            free = LETTERS_IN_A_LINE
        lines[-1] += f'<span style="color:{one.colour}">{one.sign}</span> {in_chart(name)}   '
        free -= letters_of(name) + 4
    return lines
