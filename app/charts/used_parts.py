"""How much of all GPUs is used, idle in partitions, or free: a bar for compute and one for memory."""

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.metrics.slice_map import SliceState, slices_of
from sliceplan.solver.model.plan import PlannedGpu

from .colours import FREE_ROOM, IDLE, PALETTE, WASTED, text_on
from .legends import CAMERA_PX, Entry, add_legend

COMPUTE, MEMORY = "compute", "memory"

COLOURS = {
    "used": PALETTE[0],
    "idle in partitions": IDLE,
    "kept free": PALETTE[1],
    "room for a partition": FREE_ROOM,
    "out of reach": WASTED,
}
"""By what a part of a bar is."""

ROW_PX, AXIS_PX = 46, 30

LEAST_TEXT = 0.1
"""Part of a bar from which on it says how much it is; a thinner one says so when it is pointed at."""

MEMORY_STATES = {
    SliceState.USED: "used",
    SliceState.KEPT_FREE: "kept free",
    SliceState.FREE: "room for a partition",
    SliceState.OUT_OF_REACH: "out of reach",
}


def memory_parts(gpus: Sequence[PlannedGpu]) -> dict[str, float]:
    """Returns the parts of the memory slices of GPUs that are cut by MIG, 0 to 1; none where there is no such GPU."""
    counts = Counter(MEMORY_STATES[one.state] for gpu in gpus for one in slices_of(gpu))
    total = sum(counts.values())
    return {name: counts[name] / total for name in MEMORY_STATES.values() if counts[name]}


def used_parts_chart(rows: dict[str, dict[str, float]]) -> go.Figure:
    """Returns a bar a row, each from 0 to 100 %; rows: name -> name of a part (COLOURS) -> its part, 0 to 1."""
    names = [name for name in COLOURS if any(parts.get(name, 0.0) > 1e-9 for parts in rows.values())]
    figure = go.Figure()
    for name in names:
        shares = {row: parts[name] for row, parts in rows.items() if parts.get(name, 0.0) > 1e-9}
        figure.add_bar(
            name=name,
            orientation="h",
            y=list(shares),
            x=[100 * share for share in shares.values()],
            marker={"color": COLOURS[name]},
            text=[f"{100 * share:.1f} %" if share >= LEAST_TEXT else "" for share in shares.values()],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": text_on(COLOURS[name]) if COLOURS[name].startswith("#") else None},
            hovertemplate="%{y}: %{x:.1f} % " + name + "<extra></extra>",
        )
    foot_px = add_legend(figure, [Entry(name, COLOURS[name]) for name in names], axis_px=AXIS_PX)
    figure.update_layout(
        barmode="stack",
        height=CAMERA_PX + AXIS_PX + foot_px + ROW_PX * len(rows),
        margin={"l": 10, "r": 20, "t": CAMERA_PX, "b": AXIS_PX + foot_px},
        xaxis={"range": [0, 100], "ticksuffix": " %", "fixedrange": True, "showgrid": False},
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True},
        bargap=0.25,
    )
    return figure
