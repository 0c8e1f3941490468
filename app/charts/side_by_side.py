"""What runs today over what runs next: two bars a GPU, their partitions to scale; what stays is greyed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from sliceplan.solver.differences.staying import staying
from sliceplan.solver.model.plan import Plan, PlannedGpu
from sliceplan.solver.model.transition import Transition, TransitionGpu

from .colours import FREE, GREY, SERVICES, mixed, text_on
from .extents import extents_of
from .gpu_bars import names_for
from .legends import Entry, add_legend
from .service_colours import service_colours
from .texts import in_chart, shortened

GREYED = 0.65
"""Part of grey in the colour of what stays as it is."""

MOST_IN_LEGEND = 24
"""Most services that get a legend; more than that are named on hover only."""

TOP_PX = 50
"""For the camera in the corner, and what the bars are."""

APART = 2.3
"""From a GPU to the next, in heights of a bar: its two bars, and a gap."""

LETTERS = 100
"""Letters that fit on a whole GPU, about."""


@dataclass(frozen=True)
class _Piece:
    """One partition of one of the plans."""

    row: int
    start: float
    """Part of the GPU, 0 to 1."""
    width: float
    service: str | None
    """None: it is kept free."""
    name: str
    label: str
    hover: str
    stays: bool


_Sides = tuple[list[_Piece], list[_Piece]]
"""Partitions before and after."""


def side_by_side_chart(
    transition: Transition,
    old: Plan,
    assigned: Plan,
    colours: Mapping[str, int] | None = None,
    *,
    only_changed: bool = False,
) -> go.Figure:
    """
    Returns the picture.

    Parameters
    ----------
    assigned
        The next plan with the GPUs and places that the transition gives it.
    colours
        The services' colours in other pictures (service_colours.py); None: there are none.
    only_changed
        Leave out the GPUs on which everything stays as it is.
    """
    rows, sides = _rows(transition, old, assigned, only_changed)
    found = sorted({piece.service for side in sides for piece in side if piece.service is not None})
    numbers = service_colours(found, assigned) if colours is None else colours
    services = [name for name in numbers if name in set(found)]
    of_service = {name: SERVICES[numbers[name]] for name in services}
    figure = go.Figure()
    bar_px = 38 if len(rows) <= 8 else 20 if len(rows) <= 40 else 9
    # A legend of hundreds says nothing.
    legend = services if len(services) <= MOST_IN_LEGEND else []
    entries = [Entry(name, of_service[name], key=str(key)) for key, name in enumerate(legend, start=1)]
    for lane, (axis, pieces) in enumerate(zip(("x", "x2"), sides, strict=True)):
        if pieces:
            figure.add_trace(_bars(pieces, of_service, {one.name: one.key for one in entries}, axis, lane, bar_px))
    if any(piece.service is None for side in sides for piece in side):
        entries.append(Entry("kept free", FREE))
    foot_px = add_legend(figure, entries, with_keys=True)
    hidden = {"visible": False, "range": [0, 1], "fixedrange": True}
    figure.update_layout(
        barmode="overlay",
        bargap=0.14,
        height=TOP_PX + foot_px + round(bar_px * APART * max(len(rows), 1)),
        margin={"l": 10, "r": 10, "t": TOP_PX, "b": foot_px},
        xaxis=hidden,
        xaxis2={**hidden, "overlaying": "x"},
        yaxis={
            "range": [APART * len(rows) - 0.7, -0.6],
            "tickmode": "array",
            "tickvals": [APART * row + 0.5 for row in range(len(rows))],
            "ticktext": [in_chart(gpu.name) for gpu in rows],
            "tickfont": {"size": 12 if bar_px > 9 else 10},
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
        uniformtext={"minsize": 9, "mode": "hide"},
    )
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom"}
    figure.add_annotation(text="<b>upper bar: today, lower bar: next</b>", showarrow=False, **place)
    return figure


def _rows(transition: Transition, old: Plan, assigned: Plan, only_changed: bool) -> tuple[list[TransitionGpu], _Sides]:
    """Returns the GPUs that are shown, a row each, and the partitions on them before and after."""
    before, after = ({gpu.id: gpu for gpu in plan.gpus} for plan in (old, assigned))
    rows: list[TransitionGpu] = []
    was_there: list[_Piece] = []
    will_be_there: list[_Piece] = []
    for gpu in transition.gpus:
        was, becomes = before.get(gpu.old_id or ""), after.get(gpu.assigned_id or "")
        if was is None and becomes is None:
            continue
        kept = staying(was, becomes) if was and becomes else (frozenset[int](), frozenset[int]())
        if only_changed and was and becomes and len(kept[0]) == len(was.partitions) == len(becomes.partitions):
            continue
        for side, one, stays in ((was_there, was, kept[0]), (will_be_there, becomes, kept[1])):
            if one is not None:
                side += _pieces(one, len(rows), stays)
        rows.append(gpu)
    return rows, (was_there, will_be_there)


def _bars(
    pieces: Sequence[_Piece], colours: Mapping[str, str], keys: Mapping[str, str], axis: str, lane: int, bar_px: int
) -> go.Bar:
    looks = [_colours(piece, colours) for piece in pieces]
    has_text = bar_px > 9
    return go.Bar(
        xaxis=axis,
        orientation="h",
        y=[APART * piece.row + lane for piece in pieces],
        base=[piece.start for piece in pieces],
        x=[piece.width for piece in pieces],
        # Left to Plotly, a bar is as wide as its trace's rows are apart.
        width=0.86,
        marker={
            "color": [colour for colour, _ in looks],
            "line": {"color": "rgba(127,127,127,0.6)", "width": 1},
        },
        text=[piece.label if has_text else "" for piece in pieces],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": [text for _, text in looks]},
        constraintext="inside",
        hovertext=[piece.hover for piece in pieces],
        hovertemplate="%{hovertext}<extra></extra>",
        **(names_for([(piece.name, keys.get(piece.service or "", "")) for piece in pieces]) if has_text else {}),
    )


def _colours(piece: _Piece, colours: Mapping[str, str]) -> tuple[str, str]:
    """Returns the colours of a piece and of the text on it, both readable on a light and on a dark page."""
    if piece.service is None:
        return FREE, GREY
    colour = colours[piece.service]
    colour = mixed(colour, GREY, GREYED) if piece.stays else colour
    return colour, text_on(colour)


def _pieces(gpu: PlannedGpu, row: int, stays: frozenset[int]) -> list[_Piece]:
    found = []
    for i, (partition, extent) in enumerate(zip(gpu.partitions, extents_of(gpu), strict=True)):
        services = list(dict.fromkeys(served.workload for served in partition.serves))
        name = ", ".join(services) or "kept free"
        label = f"{in_chart(shortened(name, int(LETTERS * extent.width)))}<br>{extent.size}"
        hover = "<br>".join(
            [
                f"<b>{in_chart(name)}</b>",
                f"{extent.size} of {gpu.id}",
                *(
                    f"batch {one.batch}, {one.processes} processes, {one.rate_rps:,.0f} req/s"
                    for one in partition.serves
                ),
                "stays as it is" if i in stays else "changes",
            ]
        )
        service = services[0] if services else None
        found.append(_Piece(row, extent.start, extent.width, service, in_chart(name), label, hover, i in stays))
    return found
