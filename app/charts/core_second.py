"""Which query has which cores when, for a second of a scheduler's run."""

import plotly.graph_objects as go

from sliceplan.solver.cores.core_places import runs_of
from sliceplan.solver.cores.one_second import LONG_MS, Second

from .colours import MISSES, SERVICES

CORE_PX = 7
LEAST_PX = 260
CORES_A_TICK = 8


def second_chart(second: Second) -> go.Figure:
    """
    Returns a row a core, a bar a query's time on cores beside each other; colours tell queries that are near apart.

    A query that is late has a red outline; while it stands still, after it was given more cores, it is hatched.
    """
    late = {one.number for one in second.queries if one.is_late}
    bars = []
    for place in second.places:
        span = place.span
        for first, count in runs_of(place.cores):
            for begin, end, stands in ((span.begin_ms, span.runs_ms, True), (span.runs_ms, span.end_ms, False)):
                if end > begin:
                    bars.append((span.query, begin, end, first, count, stands))
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        base=[begin for _, begin, *_ in bars],
        x=[end - begin for _, begin, end, *_ in bars],
        y=[first + count / 2 for *_, first, count, _ in bars],
        width=[count for *_, count, _ in bars],
        marker={
            "color": [SERVICES[query % len(SERVICES)] for query, *_ in bars],
            "line": {"color": MISSES, "width": [1.5 if query in late else 0 for query, *_ in bars]},
            "pattern": {"shape": ["/" if stands else "" for *_, stands in bars], "fgcolor": "#808080"},
        },
        customdata=[[query, count, "late" if query in late else "in time"] for query, _, _, _, count, _ in bars],
        hovertemplate="query %{customdata[0]}, %{customdata[2]}<br>%{customdata[1]} cores beside each other, from "
        "%{base:.1f} ms on for %{x:.2f} ms<extra></extra>",
    )
    figure.update_layout(
        showlegend=False,
        height=max(LEAST_PX, 90 + CORE_PX * second.cores),
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        barmode="overlay",
        xaxis={"title": "ms", "range": [0, LONG_MS], "fixedrange": True},
        yaxis={"title": "core", "range": [second.cores, 0], "dtick": CORES_A_TICK, "fixedrange": True},
    )
    return figure
