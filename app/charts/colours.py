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

GREY = PALETTE[7]
"""Of what is not looked at, or stays as it is; no service has it."""

SERVICES = (*(colour for colour in PALETTE if colour != GREY), "#C2A5CF")
"""Colours of services, by which they are known in every picture (service_colours.py)."""

PATTERNS = ("", "/", "x", "|", "\\", "-", "+", ".")
"""Plotly's fill patterns: they tell apart what has the same colour."""

FREE = "rgba(128,128,128,0.16)"
WASTED = "rgba(128,128,128,0.34)"
IDLE = "#A6CEE3"
"""Of what is paid for and not used, a tint of the first colour."""
FREE_ROOM = PALETTE[10]
"""Of room that a further partition could have."""
MISSES = "#E03131"
"""Outlines what breaks a promise."""


def kept_apart(names: Iterable[str], neighbours: Iterable[tuple[str, str]]) -> dict[str, int]:
    """
    Returns the index of a colour of SERVICES for each name, in turn, but another than its neighbours' while there are
    enough.

    With no more names than colours, each has its own.
    """
    order = list(dict.fromkeys(names))
    if len(order) <= len(SERVICES):
        return {name: i for i, name in enumerate(order)}
    beside: dict[str, set[str]] = {name: set() for name in order}
    for one, other in neighbours:
        if one != other and one in beside and other in beside:
            beside[one].add(other)
            beside[other].add(one)
    chosen: dict[str, int] = {}
    for i, name in enumerate(order):
        taken = {chosen[other] for other in beside[name] if other in chosen}
        in_turn = ((i + step) % len(SERVICES) for step in range(len(SERVICES)))
        chosen[name] = next((colour for colour in in_turn if colour not in taken), i % len(SERVICES))
    return chosen


def mixed(colour: str, other: str, part: float) -> str:
    """Returns a colour with a part (0 to 1) of another in it, all as #RRGGBB."""
    channels = ((int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round((1 - part) * one + part * two):02X}" for one, two in channels)


def text_on(colour: str) -> str:
    """
    Returns black or white, whichever is easier to read on a colour given as #RRGGBB; black on one that is faint.

    That is the one of more contrast (WCAG 2.2, relative luminance and contrast ratio), which is 4.5 at least.
    """
    if not colour.startswith("#"):
        return "black"
    return "black" if contrast(colour, "#000000") >= contrast(colour, "#FFFFFF") else "white"


def contrast(one: str, other: str) -> float:
    """Returns how well one colour is read on another, 1 to 21; both as #RRGGBB."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
