"""Where the percentiles of each service's latencies lie beside its SLO, and the interval of the promised one."""

from collections.abc import Sequence
from math import log10

import plotly.graph_objects as go

from sliceplan.solver.model.simulation_report import SimulatedPercentile, SimulatedService, Verdict

from .colours import GREY, MISSES, PALETTE
from .service_rows import draw_slo, service_rows
from .texts import in_chart

LEAST, FARTHEST = 1.0, 10_000.0
"""Percent of the SLO between which a latency is drawn, on an axis of logarithms; what is beyond stands at the edge."""

COLOUR: dict[Verdict, str] = {"yes": PALETTE[2], "no": MISSES, "unsure": PALETTE[1], "unknown": GREY}
SAID: dict[Verdict, str] = {"yes": "holds", "no": "does not hold", "unsure": "not sure", "unknown": "no requests"}

ROW_PX, AXIS_PX = 38, 50
"""Height of a row with two lines of text, and of the axis above the rows."""

SHOWN = ((0.5, "P50", "circle"), (0.95, "P95", "diamond"))


def percentile_chart(services: Sequence[SimulatedService], quantile: float) -> go.Figure:
    """Returns a row a service in the order given: P50, P95 and the promised percentile in percent of its SLO."""
    rows = list(range(len(services)))
    figure = go.Figure()
    edge = _edge(services)
    for row, one in zip(rows, services, strict=True):
        ends = [x for x in (_part(one, 0.5, edge), _part(one, quantile, edge)) if x is not None]
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
        parts = [_part(one, share, edge) for one in services]
        known = [(row, one, x) for row, one, x in zip(rows, services, parts, strict=True) if x is not None]
        figure.add_scatter(
            name=name,
            showlegend=False,
            x=[x for _, _, x in known],
            y=[row for row, _, _ in known],
            mode="markers",
            marker={"symbol": symbol, "size": 10, "color": [COLOUR[one.holds] for _, one, _ in known]},
            error_x=_interval([one for _, one, _ in known], quantile, edge) if share == quantile else None,
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
    medians = [x for one in services if (x := _part(one, 0.5, edge)) is not None]
    ticks = _ticks(services, quantile, edge)
    figure.update_layout(
        xaxis={
            "title": {"text": "latency / SLO (log scale)", "standoff": 4},
            "side": "top",  # of many services the foot is out of sight
            "type": "log",
            "range": [log10(0.8 * min([50.0, *medians])), log10(1.05 * edge)],
            "fixedrange": True,
            "tickmode": "array",
            "tickvals": list(ticks),
            "ticktext": list(ticks.values()),
        },
        **service_rows([_label(one, quantile) for one in services], ROW_PX, AXIS_PX),
    )
    return figure


TICKS = {1.0: "1 %", 10.0: "10 %", 20.0: "20 %", 50.0: "50 %", 100.0: "<b>SLO</b>"} | {
    100.0 * times: f"{times:,} x" for times in (2, 5, 10, 20, 50, 100)
}
"""Of the axis: percent below the SLO, and how many times it above."""


def _ticks(services: Sequence[SimulatedService], quantile: float, edge: float) -> dict[float, str]:
    """Returns the axis' marks up to its edge, where `more` stands if something lies beyond or is never answered."""
    ms = [(one, _ms(one, share)) for one in services if one.requests for share in (0.5, quantile)]
    is_beyond = any(found is None or 100 * found / one.slo_ms > edge for one, found in ms)
    room = edge / MORE if is_beyond else edge
    return {at: text for at, text in TICKS.items() if at <= room} | ({edge: "more"} if is_beyond else {})


MORE, BESIDE_SLO = 1.3, 1.1
"""How much farther the edge is than what is drawn, where `more` has room; and than the SLO, if all is within it."""


def _edge(services: Sequence[SimulatedService]) -> float:
    """Returns where the axis ends, in percent of the SLO: beyond all latencies that have an end."""
    ends = [(one, found.latency_ms, found.high_ms) for one in services for found in one.percentiles]
    known = [100 * ms / one.slo_ms for one, *both in ends for ms in both if ms is not None]
    farthest = max(known, default=0.0)
    is_within = farthest <= 100 and all(found.latency_ms is not None for _, found in _answered(services))
    return 100.0 * BESIDE_SLO if is_within else min(MORE * max(farthest, 100.0), FARTHEST)


def _answered(services: Sequence[SimulatedService]) -> list[tuple[SimulatedService, SimulatedPercentile]]:
    return [(one, found) for one in services if one.requests for found in one.percentiles]


def _label(one: SimulatedService, quantile: float) -> str:
    """Returns a service, whether it holds, and in ms what is promised and what was found."""
    latency = _ms(one, quantile)
    found = "" if latency is None else f"P{100 * quantile:g} {_shown_ms(latency)} ms, "
    return f"{in_chart(one.workload)}: {SAID[one.holds]}<br>{found}SLO {one.slo_ms:,g} ms"


def _shown_ms(latency: float) -> str:
    """Returns a latency as the table beside the picture has it, without its decimal where that says nothing."""
    return f"{latency:,.1f}" if latency < 100 else f"{latency:,.0f}"


def _part(one: SimulatedService, quantile: float, edge: float) -> float | None:
    """Returns a percentile in percent of the SLO, at the edge if it lies beyond; None: no requests came."""
    latency = _ms(one, quantile)
    if latency is None:
        return edge if one.requests else None
    return _drawn(one, latency, edge)


def _drawn(one: SimulatedService, ms: float, edge: float) -> float:
    return min(max(100 * ms / one.slo_ms, LEAST), edge)


def _ms(one: SimulatedService, quantile: float) -> float | None:
    return next((found.latency_ms for found in one.percentiles if found.quantile == quantile), None)


def _interval(services: Sequence[SimulatedService], quantile: float, edge: float) -> dict[str, object]:
    """Returns the confidence intervals as error bars."""
    low, high = [], []
    for one in services:
        found = next(found for found in one.percentiles if found.quantile == quantile)
        at = _part(one, quantile, edge) or LEAST
        below = at if found.low_ms is None else _drawn(one, found.low_ms, edge)
        above = at if found.high_ms is None else _drawn(one, found.high_ms, edge)
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
