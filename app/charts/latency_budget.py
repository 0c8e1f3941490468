"""What takes up each service's SLO: execution by its causes, what batching and queueing may take, and what is left."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.metrics.service_figures import ServiceFigures

from .colours import FREE, MISSES, PALETTE, WASTED
from .service_rows import mark_slo, service_rows
from .texts import in_chart

EXECUTION = "execution"
FILLING = "filling the batch"
"""What the first request of a batch waits for the others, where batches are held (latency: assembly)."""
ORDER = (
    FILLING,
    EXECUTION,
    "loading",
    "scheduling",
    "feedback",
    "cache contention",
    "scheduling contention",
    "throttling",
    "neighbour",
)
"""Causes in the order in which they are stacked: the service's own before its neighbours'."""
OWN = ("active", "alone")
"""What the interference models call the execution itself."""


def worst_first(figures: Sequence[ServiceFigures]) -> list[ServiceFigures]:
    """Returns the services that run, those that come closest to their limit, or pass it, first."""
    return sorted((one for one in figures if one.slowest is not None), key=lambda one: (-(one.used or 0.0), one.name))


def budget_chart(figures: Sequence[ServiceFigures]) -> go.Figure:
    """Returns a bar a service in the order given, in percent of its SLO; a service that misses it has a red outline."""
    rows = list(range(len(figures)))
    parts = [_parts(one) for one in figures]
    causes = sorted({cause for own in parts for cause in own}, key=_rank)
    figure = go.Figure()
    outlines = {"color": MISSES, "width": [3 if one.misses else 0 for one in figures]}
    for i, cause in enumerate(causes):
        figure.add_bar(
            name=cause,
            orientation="h",
            y=rows,
            x=[100 * own.get(cause, 0.0) / one.slo_ms for own, one in zip(parts, figures, strict=True)],
            marker={"color": PALETTE[i % len(PALETTE)], "line": outlines},
            hovertext=[_hover(one, own) for own, one in zip(parts, figures, strict=True)],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    rest = [(100 * max(0.0, one.limit_ms - _filling(one) - _latency(one)) / one.slo_ms) for one in figures]
    reserve = [100 * (one.slo_ms - one.limit_ms) / one.slo_ms for one in figures]
    for name, values, colour, pattern in (
        ("not needed", rest, FREE, ""),
        ("kept for batching and queueing", reserve, WASTED, "/"),
    ):
        if any(value > 1e-9 for value in values):
            figure.add_bar(
                name=name,
                orientation="h",
                y=rows,
                x=values,
                marker={"color": colour, "pattern": {"shape": pattern, "size": 6, "solidity": 0.25}},
                hovertext=[
                    f"<b>{in_chart(one.name)}</b><br>{value * one.slo_ms / 100:.1f} ms {name}"
                    for one, value in zip(figures, values, strict=True)
                ],
                hovertemplate="%{hovertext}<extra></extra>",
            )
    mark_slo(figure, 100)
    longest = max((100 * (_latency(one) + one.slo_ms - one.limit_ms) / one.slo_ms for one in figures), default=100.0)
    figure.update_layout(
        barmode="stack",
        bargap=0.3,
        xaxis={
            "title": "part of the SLO (%)",
            "range": [0, max(104.0, 1.03 * longest)],
            "fixedrange": True,
            "ticksuffix": " %",
        },
        **service_rows([f"{in_chart(one.name)}, {_latency(one):.0f} of {one.limit_ms:.0f} ms" for one in figures]),
    )
    return figure


def _latency(one: ServiceFigures) -> float:
    return one.slowest.latency_ms if one.slowest else 0.0


def _filling(one: ServiceFigures) -> float:
    """Returns how long a batch of the slowest partition is held at its rate, spaced evenly, ms; 0: it is not held."""
    served = one.slowest
    if served is None or not served.dispatch_after_ms:
        return 0.0
    full_ms = 1000 * (served.batch - 1) / served.rate_rps if served.rate_rps else served.dispatch_after_ms
    return min(full_ms, served.dispatch_after_ms)


def _parts(one: ServiceFigures) -> dict[str, float]:
    """Returns what a request of the slowest partition takes by cause, ms."""
    if one.slowest is None:
        return {}
    filling_ms = _filling(one)
    parts = {FILLING: filling_ms} if filling_ms else {}
    causes = one.slowest.causes_ms
    if not causes:
        return parts | {EXECUTION: one.slowest.latency_ms}
    return parts | {EXECUTION if cause in OWN else cause: ms for cause, ms in causes.items() if ms > 0}


def _rank(cause: str) -> tuple[int, str]:
    return (ORDER.index(cause) if cause in ORDER else len(ORDER), cause)


def _hover(one: ServiceFigures, parts: dict[str, float]) -> str:
    lines = [
        f"<b>{in_chart(one.name)}</b>, SLO {one.slo_ms:g} ms",
        f"latency {_latency(one):.1f} ms of {one.limit_ms:.1f} ms that execution may take",
        *(f"  {ms:.2f} ms {cause}" for cause, ms in parts.items() if len(parts) > 1),
    ]
    if one.misses:
        lines.append(f"<b>misses its SLO</b> by {one.excess:.1%}")
    return "<br>".join(lines)
