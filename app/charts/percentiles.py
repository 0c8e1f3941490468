"""Where the percentiles of each service's latencies lie beside its SLO, and the interval of the promised one."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.model.simulation_report import SimulatedService, Verdict

from .colours import GREY, MISSES, PALETTE
from .service_rows import draw_slo, service_rows
from .texts import in_chart

FARTHEST = 250.0
"""Percent of the SLO that are drawn; what lies beyond stands at the edge."""

COLOUR: dict[Verdict, str] = {"yes": PALETTE[2], "no": MISSES, "unsure": PALETTE[1], "unknown": GREY}
SAID: dict[Verdict, str] = {"yes": "holds", "no": "does not hold", "unsure": "not sure", "unknown": "no requests"}

ROW_PX, AXIS_PX = 38, 50
"""Height of a row with two lines of text, and of the axis above the rows."""

SHOWN = ((0.5, "P50", "circle"), (0.95, "P95", "diamond"))


def percentile_chart(services: Sequence[SimulatedService], quantile: float) -> go.Figure:
    """Returns a row a service in the order given: P50, P95 and the promised percentile in percent of its SLO."""
    rows = list(range(len(services)))
    figure = go.Figure()
    for row, one in zip(rows, services, strict=True):
        ends = [x for x in (_part(one, 0.5), _part(one, quantile)) if x is not None]
        if len(ends) == 2:
            figure.add_scatter(
                x=ends,
                y=[row, row],
                mode="lines",
                line={"color": COLOUR[one.holds], "width": 3},
                showlegend=False,
                hoverinfo="skip",
            )
    promised = f"P{100 * quantile:g}"
    for share, name, symbol in (*SHOWN, (quantile, promised, "square")):
        known = [(row, one, x) for row, one in zip(rows, services, strict=True) if (x := _part(one, share)) is not None]
        figure.add_scatter(
            name=name,
            showlegend=False,
            x=[x for _, _, x in known],
            y=[row for row, _, _ in known],
            mode="markers",
            marker={"symbol": symbol, "size": 10, "color": [COLOUR[one.holds] for _, one, _ in known]},
            error_x=_interval([one for _, one, _ in known], quantile) if share == quantile else None,
            hovertext=[_hover(one) for _, one, _ in known],
            hovertemplate="%{hovertext}<extra></extra>",
        )
        # In the legend the shape tells, whatever colour the first service has.
        figure.add_scatter(
            name=name, x=[None], y=[None], mode="markers", marker={"symbol": symbol, "size": 10, "color": GREY}
        )
    figure.add_scatter(
        name=f"{promised}, 95 % confidence", x=[None], y=[None], mode="lines", line={"color": GREY, "width": 1.5}
    )
    draw_slo(figure, 100)
    reached = [x for one in services for share in (0.5, quantile) if (x := _part(one, share)) is not None]
    figure.update_layout(
        xaxis={
            "title": {"text": "latency, in % of the service's SLO", "standoff": 4},
            "side": "top",  # of many services the foot is out of sight
            "range": [0, max(110.0, 1.05 * max(reached, default=0.0))],
            "fixedrange": True,
            "tickmode": "array",
            "tickvals": list(TICKS),
            "ticktext": list(TICKS.values()),
        },
        **service_rows([_label(one, quantile) for one in services], ROW_PX, AXIS_PX),
    )
    return figure


TICKS = {0.0: "0", 50.0: "50 %", 100.0: "<b>SLO</b>", 150.0: "150 %", 200.0: "200 %", FARTHEST: "more"}
"""Of the axis; at its end stands what lies beyond."""


def _label(one: SimulatedService, quantile: float) -> str:
    """Returns a service, whether it holds, and in ms what is promised and what was found."""
    latency = _ms(one, quantile)
    found = "" if latency is None else f"P{100 * quantile:g} {latency:,.0f} ms, "
    return f"{in_chart(one.workload)}: {SAID[one.holds]}<br>{found}SLO {one.slo_ms:,g} ms"


def _part(one: SimulatedService, quantile: float) -> float | None:
    """Returns a percentile in percent of the SLO, at the edge if it lies beyond; None: no requests came."""
    latency = _ms(one, quantile)
    if latency is None:
        return FARTHEST if one.requests else None
    return min(100 * latency / one.slo_ms, FARTHEST)


def _ms(one: SimulatedService, quantile: float) -> float | None:
    return next((found.latency_ms for found in one.percentiles if found.quantile == quantile), None)


def _interval(services: Sequence[SimulatedService], quantile: float) -> dict[str, object]:
    """Returns the confidence intervals as error bars."""
    low, high = [], []
    for one in services:
        found = next(found for found in one.percentiles if found.quantile == quantile)
        at = _part(one, quantile) or 0.0
        below = at if found.low_ms is None else min(100 * found.low_ms / one.slo_ms, FARTHEST)
        above = at if found.high_ms is None else min(100 * found.high_ms / one.slo_ms, FARTHEST)
        low.append(max(at - below, 0.0))
        high.append(max(above - at, 0.0))
    ends = {"array": high, "arrayminus": low}
    return {"type": "data", "symmetric": False, **ends, "thickness": 1.5, "width": 5, "color": GREY}


def _hover(one: SimulatedService) -> str:
    lines = [f"<b>{in_chart(one.workload)}</b>, SLO {one.slo_ms:g} ms: {SAID[one.holds]}"]
    for found in one.percentiles:
        if found.latency_ms is None:
            lines.append(f"P{100 * found.quantile:g}: never")
        else:
            ends = (
                "" if found.low_ms is None or found.high_ms is None else f" ({found.low_ms:.1f} to {found.high_ms:.1f})"
            )
            lines.append(f"P{100 * found.quantile:g}: {found.latency_ms:.1f} ms{ends}")
    if one.in_time is not None:
        lines.append(f"{one.in_time:.2%} in time, of {one.requests:,}")
    return "<br>".join(lines)
