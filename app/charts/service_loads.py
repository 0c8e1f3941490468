"""How full each service's partitions are: its rate, the headroom that is provisioned over it, and what is spare."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.metrics.service_figures import ServiceFigures

from .colours import FREE, MISSES, PALETTE
from .service_rows import service_rows
from .texts import in_chart

RATE, HEADROOM, SPARE = "rate", "headroom", "spare"


def fullest_first(figures: Sequence[ServiceFigures]) -> list[ServiceFigures]:
    """Returns the services that run, those whose rates come closest to what they could carry, or pass it, first."""
    return sorted((one for one in figures if one.load is not None), key=lambda one: (-(one.load or 0.0), one.name))


def grows_least(figures: Sequence[ServiceFigures], headroom: float) -> tuple[ServiceFigures, float] | None:
    """
    Returns the service that fails first if all rates grow and its partitions stay, and the growth that it bears.

    Parameters
    ----------
    headroom
        That is provisioned over each rate, as a fraction; it is there to be used.

    Returns
    -------
    tuple[ServiceFigures, float] | None
        The growth as a fraction of the rate, below 0 where the rate is not carried now; None: no service has a rate.
    """
    known = [one for one in fullest_first(figures) if one.required_rps > 0]
    if not known:
        return None
    return known[0], known[0].capacity_rps * (1 + headroom) / known[0].required_rps - 1


def load_chart(figures: Sequence[ServiceFigures], headroom: float) -> go.Figure:
    """
    Returns a bar a service in the order given, in percent of what its partitions carry, which is the line.

    A rate that they do not carry passes it, with a red outline. `headroom`: as of `grows_least`.
    """
    rows = list(range(len(figures)))
    rates = [one.required_rps / (1 + headroom) for one in figures]
    parts = (
        (RATE, PALETTE[0], rates),
        (HEADROOM, PALETTE[1], [one.required_rps - rate for one, rate in zip(figures, rates, strict=True)]),
        (SPARE, FREE, [max(0.0, one.capacity_rps - one.required_rps) for one in figures]),
    )
    outlines = [3 if one.required_rps > one.capacity_rps * (1 + 1e-9) else 0 for one in figures]
    figure = go.Figure()
    for name, colour, rps in parts:
        if name == HEADROOM and headroom <= 0:
            continue
        figure.add_bar(
            name=name,
            orientation="h",
            y=rows,
            x=[100 * part / one.capacity_rps for part, one in zip(rps, figures, strict=True)],
            marker={
                "color": colour,
                "line": {"color": MISSES, "width": [0] * len(rows) if name == SPARE else outlines},
            },
            hovertext=[
                f"<b>{in_chart(one.name)}</b><br>{name}: {part:,.1f} requests/s"
                f"<br>its partitions carry {one.capacity_rps:,.1f}"
                for part, one in zip(rps, figures, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    figure.add_vline(x=100, line={"color": MISSES, "width": 2, "dash": "dash"})
    figure.add_annotation(x=100, y=1, yref="paper", yanchor="bottom", text="could carry", showarrow=False)
    longest = max((100 * (one.load or 0.0) for one in figures), default=100.0)
    figure.update_layout(
        barmode="stack",
        bargap=0.3,
        xaxis={
            "title": "of what its partitions carry",
            "range": [0, max(106.0, 1.03 * longest)],
            "fixedrange": True,
            "ticksuffix": " %",
        },
        **service_rows(
            [
                f"{in_chart(one.name)}, {rate:,.0f} of {one.capacity_rps:,.0f}"
                for one, rate in zip(figures, rates, strict=True)
            ]
        ),
    )
    return figure
