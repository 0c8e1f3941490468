"""What small changes do to the cost, the greatest effect on top: a tornado chart."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.model.sweep_report import Sensitivity

from .colours import PALETTE
from .legends import legend_on_top, room_px
from .texts import in_chart

LESS, MORE = PALETTE[4], PALETTE[5]
WORDS = {"rate": "rate of {}", "slo": "SLO of {}", "price": "price of {}"}

ROOM = 0.45
"""Beside the longest bars, for their figures; part of the axis, which on a phone is hardly wider than four of them."""


def tornado_chart(effects: Sequence[Sensitivity], change: float) -> go.Figure:
    """Returns a row for each effect with a bar for the decrease and one for the increase, in USD per hour."""
    names = [WORDS[one.what].format(in_chart(one.of)) for one in effects]
    figure = go.Figure()
    for name, colour, amounts in (
        (f"-{change:.0%}", LESS, [one.down_usd_per_hour for one in effects]),
        (f"+{change:.0%}", MORE, [one.up_usd_per_hour for one in effects]),
    ):
        figure.add_bar(
            name=name,
            orientation="h",
            y=names,
            x=amounts,
            marker={"color": colour},
            text=["cannot be served" if amount is None else _signed(amount) for amount in amounts],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y} " + name + ": %{text} per hour<extra></extra>",
        )
    ends = [0.0, *(bar for one in effects for bar in (one.down_usd_per_hour, one.up_usd_per_hour) if bar is not None)]
    room = ROOM * (max(ends) - min(ends)) or 1.0
    figure.add_vline(x=0, line={"width": 1, "color": PALETTE[7]})
    figure.update_layout(
        barmode="overlay",
        height=80 + room_px(2, 1) + 28 * len(names),
        margin={"l": 10, "r": 70, "t": room_px(2, 1), "b": 10},
        bargap=0.3,
        legend=legend_on_top(traceorder="normal"),
        xaxis={"title": "change of the cost, USD per hour", "tickprefix": "$", "fixedrange": True}
        | {"range": [min(ends) - room, max(ends) + room]},
        yaxis={"autorange": "reversed", "fixedrange": True, "automargin": True},
    )
    return figure


def _signed(amount: float) -> str:
    return "" if abs(amount) < 0.005 else f"{'+' if amount > 0 else '-'}${abs(amount):,.2f}"
