"""Colours that stay apart for colour-blind readers: Okabe and Ito's palette (jfly.uni-koeln.de/color), then tints."""

from collections.abc import Iterable

PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#7F7F7F",
    "#5E4FA2",
    "#A6761D",
    "#66C2A5",
    "#B2DF8A",
)

FREE = "#EDEDED"
WASTED = "#BDBDBD"
MISSES = "#D00000"
"""Outlines what breaks a promise."""


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Returns a colour for each name, in the order of their first occurrence."""
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(dict.fromkeys(names))}


def text_on(colour: str) -> str:
    """Returns black or white, whichever is easier to read on a colour given as #RRGGBB."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"
