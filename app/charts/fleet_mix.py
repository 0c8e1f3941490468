"""The cheapest mix of GPU types beside each type alone, as bars of cost per hour."""

import plotly.graph_objects as go

from sliceplan.solver.model.sweep_report import FleetMix

from .colours import PALETTE


def mix_chart(mix: FleetMix) -> go.Figure:
    """Returns one bar for the mix and one for each type that can serve all alone, the cheapest first."""
    alone = sorted(
        (single.cost_per_hour, single.gpu, single.gpus) for single in mix.single if single.cost_per_hour is not None
    )
    names, costs, colours, words = [], [], [], []
    if mix.cost_per_hour is not None:
        names.append("cheapest mix")
        costs.append(mix.cost_per_hour)
        colours.append(PALETTE[0])
        words.append(", ".join(f"{count:,} {gpu}" for gpu, count in mix.gpus.items()))
    for cost, gpu, gpus in alone:
        names.append(f"{gpu} alone")
        costs.append(cost)
        colours.append(PALETTE[7])
        words.append(f"{gpus:,} {gpu}")
    figure = go.Figure(
        go.Bar(
            orientation="h",
            y=names,
            x=costs,
            marker={"color": colours},
            text=[f"${cost:,.2f}{_more(cost, mix.cost_per_hour)}" for cost in costs],
            textposition="outside",
            cliponaxis=False,
            customdata=words,
            hovertemplate="<b>%{y}</b><br>$%{x:,.2f} per hour<br>%{customdata}<extra></extra>",
        )
    )
    if mix.bound_per_hour is not None:
        figure.add_vline(
            x=mix.bound_per_hour,
            line={"dash": "dot", "color": PALETTE[5]},
            annotation={"text": "no mix costs less", "yanchor": "bottom", "y": 1.0},
        )
    figure.update_layout(
        height=110 + 44 * len(names),
        margin={"l": 10, "r": 110, "t": 30, "b": 10},
        xaxis={"title": "USD per hour", "tickprefix": "$", "rangemode": "tozero", "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True, "automargin": True},
    )
    return figure


def _more(cost: float, best: float | None) -> str:
    return "" if not best or cost <= best * (1 + 1e-9) else f" (+{cost / best - 1:.0%})"
