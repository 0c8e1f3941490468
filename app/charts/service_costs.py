"""What services cost, the dearest first."""

import plotly.graph_objects as go

from sliceplan.solver.model.price_report import PriceReport

from .colours import FREE, PALETTE
from .texts import in_chart

MOST = 25
"""Services that have a bar of their own; the others share one."""


def service_cost_chart(report: PriceReport) -> go.Figure:
    """Returns one bar a service, in USD per hour; beyond the dearest ones, one bar for all others together."""
    order = sorted(report.services, key=lambda service: (-service.usd_per_hour, service.workload))
    shown, rest = order[:MOST], order[MOST:]
    names = [in_chart(service.workload) for service in shown]
    amounts = [service.usd_per_hour for service in shown]
    colours = [PALETTE[0]] * len(shown)
    if rest:
        names.append(f"{len(rest)} other services")
        amounts.append(sum(service.usd_per_hour for service in rest))
        colours.append(FREE)
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        y=names,
        x=amounts,
        marker={"color": colours},
        text=[f"${amount:,.2f}" for amount in amounts],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: $%{x:,.3f} per hour<extra></extra>",
    )
    figure.update_layout(
        height=80 + 24 * len(names),
        margin={"l": 10, "r": 60, "t": 10, "b": 40},
        xaxis={"title": "USD per hour", "tickprefix": "$", "rangemode": "tozero", "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True},
    )
    return figure
