"""The steps of a transition as a Gantt chart: a row a GPU, a bar a step, coloured by what it does."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from sliceplan.solver.model.transition import Transition, TransitionStep
from sliceplan.solver.wording.transition_text import duration, shortfall_in_words, step_in_words

from .colours import MISSES
from .legends import Entry, add_legend
from .texts import in_chart

KINDS = {
    "change_mode": ("#5E4FA2", "change mode"),
    "create": ("#0072B2", "create instance"),
    "start": ("#009E73", "start service"),
    "redirect": ("#F0E442", "redirect requests"),
    "repin": ("#56B4E9", "move to other cores"),
    "drain": ("#E69F00", "drain"),
    "stop": ("#D55E00", "stop service"),
    "destroy": ("#CC79A7", "destroy instance"),
}
"""Colour and words of each kind of step, in the order in which they mostly come."""

BETWEEN = 0.5
"""Free room between two GPUs, in lanes."""

MOST_NAMED = 3
"""Steps of those that a step waits for which its hover names."""

HATCHED_PX = 14
"""Height of a bar from which on bars of temporary partitions are hatched."""

LABEL_PX = 14
"""Height that the name of a GPU takes."""

TOP_PX = 50
"""For the camera in the corner, and the axis."""

LEAST_WIDTH = 1 / 300
"""Part of the axis that a bar takes at least where there is room, so that a step of no length is seen."""

PRESSED = 3
"""How many times narrower it may be where the next bar of its lane begins."""


def steps_chart(transition: Transition, window: tuple[float, float] | None = None) -> go.Figure:
    """
    Returns the chart; above the GPUs, in red, the services that have less than they need.

    Parameters
    ----------
    window
        Only steps that run within this time, in seconds from the beginning, and their GPUs; None: all.
    """
    since, until = window or (0.0, transition.estimated_s)
    steps = _within(transition, since, until)
    active = {step.gpu for step in steps}
    rows = [gpu.name for gpu in transition.gpus if gpu.name in active]
    lane_px = _lane_px(steps, len(rows))
    least = LEAST_WIDTH * max(until - since, 1.0)
    at, widths, middles, height = _places(steps, rows, least, -(-LABEL_PX // lane_px))
    by_id = {step.id: step for step in transition.steps}
    figure = go.Figure()
    for kind, (colour, words) in KINDS.items():
        if own := [step for step in steps if step.kind == kind]:
            figure.add_bar(
                name=words,
                orientation="h",
                y=[at[step.id] for step in own],
                base=[step.starts_s for step in own],
                x=[widths[step.id] for step in own],
                width=0.9,
                marker={"color": colour, **_outlines(own, hatched=lane_px >= HATCHED_PX)},
                customdata=[_hover(step, by_id) for step in own],
                hovertemplate="%{customdata}<extra></extra>",
            )
    top = _add_shortfalls(figure, transition, (since, until), -(-LABEL_PX // lane_px))
    if top < 0:
        middles, rows = [(top - 1 - BETWEEN) / 2, *middles], ["below its rate", *rows]
    foot_px = add_legend(figure, _entries(steps))
    figure.update_layout(
        barmode="overlay",
        height=int(TOP_PX + foot_px + lane_px * (height - top + 1)),
        margin={"l": 10, "r": 10, "t": TOP_PX, "b": foot_px},
        xaxis=time_axis(since, until),
        yaxis={
            "range": [height, top - BETWEEN],
            "tickmode": "array",
            "tickvals": middles,
            "ticktext": [in_chart(row) for row in rows],
            "tickfont": {"size": 12 if lane_px > 9 else 10},
            "fixedrange": True,
            "showgrid": False,
        },
    )
    return figure


def _within(transition: Transition, since: float, until: float) -> list[TransitionStep]:
    """Returns the steps that run within a time, the earliest first."""
    inside = [step for step in transition.steps if step.ends_s >= since and step.starts_s <= until]
    return sorted(inside, key=lambda step: (step.starts_s, step.id))


def time_axis(since: float, until: float) -> dict[str, Any]:
    """Returns the axis of a part of a transition, in seconds, with ticks that a clock has."""
    seconds = max(until - since, 1.0)
    every = _tick_s(seconds)
    ticks = [every * i for i in range(math.ceil(since / every), int(until / every) + 1)]
    return {
        "side": "top",
        "range": [since, until + 0.01 * seconds],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [duration(tick) for tick in ticks],
        "tickangle": 0,
        "fixedrange": True,
    }


def _outlines(steps: Sequence[TransitionStep], *, hatched: bool) -> dict[str, Any]:
    """Returns how bars are drawn apart from their colour: red where a GPU is reset, hatched where one is temporary."""
    return {
        "line": {
            "color": [MISSES if step.needs_reset else "#FFFFFF" for step in steps],
            "width": [2.5 if step.needs_reset else 0.5 for step in steps],
        },
        # On a bar of a few pixels, a pattern is all that one would see.
        "pattern": {
            "shape": ["/" if step.temporary and hatched else "" for step in steps],
            "fgcolor": "#FFFFFF",
            "fillmode": "overlay",
            "solidity": 0.25,
        },
    }


def lanes(spans: Iterable[tuple[float, float]]) -> list[int]:
    """Returns a lane for each span of time, given by rising begin, so that none covers another."""
    free_at: list[float] = []
    found = []
    for since, until in spans:
        lane = next((i for i, free in enumerate(free_at) if free <= since + 1e-9), len(free_at))
        free_at[lane : lane + 1] = [until]
        found.append(lane)
    return found


def _lane_px(steps: Sequence[TransitionStep], rows: int) -> int:
    """Returns the height of a bar: as much as is readable for few steps, and little for thousands."""
    lanes_about = rows + len(steps) // 5
    return 20 if lanes_about <= 20 else 14 if lanes_about <= 100 else 8 if lanes_about <= 250 else 5


def _entries(steps: Sequence[TransitionStep]) -> list[Entry]:
    kinds = {step.kind for step in steps}
    entries = [Entry(words, colour) for kind, (colour, words) in KINDS.items() if kind in kinds]
    return entries + [Entry("the GPU is reset", MISSES, "□")] * any(step.needs_reset for step in steps)


def _places(
    steps: Sequence[TransitionStep], rows: Sequence[str], least: float, least_lanes: int
) -> tuple[dict[int, float], dict[int, float], list[float], float]:
    """
    Returns the height of each step by its id, in lanes, how long its bar is (s), the middle of each row, and the height
    of all.

    A step's bar is as long as is seen, or as there is room until the next one in its lane, and never shorter than it
    lasts: a service starts in the lane in which its instance was made a moment before.
    """
    at: dict[int, float] = {}
    widths: dict[int, float] = {}
    middles, top = [], 0.0
    for name in rows:
        own = [step for step in steps if step.gpu == name]
        taken = lanes((step.starts_s, max(step.ends_s, step.starts_s + least / PRESSED)) for step in own)
        begins: dict[int, float] = {}
        for step, lane in zip(reversed(own), reversed(taken), strict=True):
            room = begins.get(lane, math.inf) - step.starts_s
            widths[step.id] = max(step.ends_s - step.starts_s, min(least, room))
            begins[lane] = step.starts_s
        used = max([*taken, least_lanes - 1]) + 1
        at |= {step.id: top + lane for step, lane in zip(own, taken, strict=True)}
        middles.append(top + (used - 1) / 2)
        top += used + BETWEEN
    return at, widths, middles, max(top - BETWEEN, 1.0)


def _add_shortfalls(figure: go.Figure, transition: Transition, window: tuple[float, float], least_lanes: int) -> float:
    """Adds a bar for each service that falls short within a time, and returns how far up they reach; 0: none."""
    since, until = window
    spans = [
        (one.from_s, one.until_s, one)
        for one in transition.shortfalls
        if one.from_s is not None and one.until_s is not None and one.until_s >= since and one.from_s <= until
    ]
    spans.sort(key=lambda span: span[:2])
    if not spans:
        return 0.0
    taken = lanes((begin, end) for begin, end, _ in spans)
    used = max([*taken, least_lanes - 1]) + 1
    figure.add_bar(
        name="below its rate",
        orientation="h",
        y=[lane - used - BETWEEN for lane in taken],
        base=[begin for begin, _, _ in spans],
        x=[end - begin for begin, end, _ in spans],
        width=0.9,
        marker={"color": MISSES, "line": {"color": "#FFFFFF", "width": 0.5}},
        customdata=[in_chart(shortfall_in_words(one)) for _, _, one in spans],
        hovertemplate="%{customdata}<extra></extra>",
    )
    return -used - BETWEEN


def _hover(step: TransitionStep, by_id: dict[int, TransitionStep]) -> str:
    when = f"{duration(step.starts_s)} to {duration(step.ends_s)}, estimated"
    gained = list((step.capacity_rps or {}).items())[:4]
    lines = [f"<b>{in_chart(step_in_words(step))}</b>", when]
    lines += [f"{in_chart(workload)}: {change:+,.0f} requests/s" for workload, change in gained]
    waits = sorted((by_id[i] for i in step.after), key=lambda other: -other.ends_s)
    lines += [f"waits for: {in_chart(step_in_words(other))}" for other in waits[:MOST_NAMED]]
    if len(waits) > MOST_NAMED:
        lines.append(f"… and {len(waits) - MOST_NAMED} more steps")
    return "<br>".join(lines)


def _tick_s(seconds: float) -> float:
    """Returns a distance of ticks that a clock has, for about four of them, which a phone has room for."""
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200)
    return next((float(step) for step in steps if seconds / step <= 5), 86400.0)
