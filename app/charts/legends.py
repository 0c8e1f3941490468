"""
Where a legend stands: at the upper edge of its picture, in room that is kept for it.

Plotly makes room for a legend when it first draws it, and not when the picture becomes wider or narrower: it then
stands on the bars of whoever turns a phone or opens the sidebar.
"""

from collections.abc import Sequence
from typing import Any

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


def swatches_in_lines(entries: Sequence[tuple[str, str, bool]], outline: str) -> list[str]:
    """
    Returns a legend as lines of text with a coloured square before each name.

    Parameters
    ----------
    entries
        Name, colour, and whether it is an outline of the colour `outline` that means it.
    """
    lines: list[str] = []
    free = 0
    for name, colour, is_outlined in entries:
        square = f'<span style="color:{outline}">□</span>' if is_outlined else f'<span style="color:{colour}">■</span>'
        if letters_of(name) + 4 > free:
            lines.append("")
            free = LETTERS_IN_A_LINE
        lines[-1] += f"{square} {in_chart(name)}   "
        free -= letters_of(name) + 4
    return lines
