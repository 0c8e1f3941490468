"""
Where a legend stands: at the upper edge of its picture, in room that is kept for it.

Plotly makes room for a legend when it first draws it, and not when the picture becomes wider or narrower: it then
stands on the bars of whoever turns a phone or opens the sidebar.
"""

from typing import Any

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


def legend_at_the_foot(**more: Any) -> dict[str, Any]:
    """Returns the layout of a legend at the lower edge; the lower margin has `room_px` beside the axis' own."""
    return {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0.0, "x": 0} | more
