"""How the latencies of one service are spread, beside its SLO."""

import plotly.graph_objects as go

from sliceplan.solver.model.simulation_report import SimulatedService

from .colours import MISSES, PALETTE
from .service_rows import mark_slo

ROOM = 1.15
"""Times the SLO that the picture reaches at least."""


def latency_histogram(service: SimulatedService) -> go.Figure:
    """Returns the share of the requests by latency; what is late is red and hatched, the last bar all that is above."""
    edges = [one.up_to_ms for one in service.histogram]
    width = edges[0] if edges and edges[0] is not None else service.slo_ms
    last = len(edges) * width
    ends = [last if edge is None else edge for edge in edges]
    late = [end > service.slo_ms * (1 + 1e-9) for end in ends]
    figure = go.Figure()
    figure.add_bar(
        x=[end - width / 2 for end in ends],
        y=[100 * one.share for one in service.histogram],
        width=[width] * len(ends),
        marker={
            "color": [MISSES if is_late else PALETTE[0] for is_late in late],
            "pattern": {"shape": ["/" if is_late else "" for is_late in late], "size": 6, "solidity": 0.3},
        },
        hovertext=[
            f"{100 * one.share:.3g} % "
            + (f"above {last - width:g} ms" if one.up_to_ms is None else f"{end - width:g} to {end:g} ms")
            for one, end in zip(service.histogram, ends, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    mark_slo(figure, service.slo_ms)
    is_above = bool(service.histogram) and service.histogram[-1].share > 0
    reached = max((end for end, one in zip(ends, service.histogram, strict=True) if one.share > 0), default=last)
    farthest = last if is_above else min(last, max(reached, ROOM * service.slo_ms))
    figure.update_layout(
        height=300,
        bargap=0,
        margin={"l": 10, "r": 20, "t": 30, "b": 40},
        xaxis={
            "title": f"latency (ms); the last bar: above {last - width:g}" if is_above else "latency (ms)",
            "range": [0, farthest],
            "fixedrange": True,
        },
        yaxis={"title": "of the requests (%)", "fixedrange": True},
    )
    return figure
