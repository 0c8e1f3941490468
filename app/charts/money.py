"""Where the money of each planner's plan goes, as stacked bars."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from sliceplan.solver.metrics.cost_breakdown import CostBreakdown
from sliceplan.solver.model.plan import Plan, Status

from .colours import PALETTE
from .legends import CAMERA_PX, Entry, add_legend
from .planner_names import ABOVE_PX, ROW_HEIGHT, name_planners

TOP_PX, AXIS_PX = CAMERA_PX + ABOVE_PX, 55
"""Above the first row and below the last."""

PARTS = (
    ("useful", "useful work", PALETTE[2], ""),
    ("over_provision", "over-provision", PALETTE[1], "/"),
    ("internal_slack", "internal slack", PALETTE[4], "\\"),
    ("kept_free", "kept free", PALETTE[3], "."),
    ("fragmentation", "fragmentation", PALETTE[7], "x"),
)
"""Field of CostBreakdown, its name, colour and hatching, so that no one has to tell colours apart."""


SIGNS = {"": "■", "/": "▨", "\\": "▧", ".": "▤", "x": "▩"}
"""In the legend, by hatching."""


def money_chart(plans: Sequence[Plan], breakdowns: Mapping[str, CostBreakdown]) -> go.Figure:
    """Returns one bar a planner with a plan, in USD per hour: as long as its cost, cut by what is paid for."""
    own = [plan for plan in plans if plan.planner in breakdowns]
    names = [_name(plan) for plan in own]
    figure = go.Figure()
    for field, name, colour, hatching in PARTS:
        usd = [getattr(breakdowns[plan.planner], field) for plan in own]
        if not any(amount > 1e-9 for amount in usd):
            continue
        parts = [
            amount / plan.cost_per_hour if plan.cost_per_hour else 0.0 for amount, plan in zip(usd, own, strict=True)
        ]
        figure.add_bar(
            name=name,
            orientation="h",
            y=names,
            x=usd,
            marker={"color": colour, "pattern": {"shape": hatching, "fillmode": "overlay", "size": 6, "solidity": 0.2}},
            customdata=parts,
            hovertemplate="%{y}: $%{x:,.2f} per hour (%{customdata:.1%}) " + name + "<extra></extra>",
        )
    signs = {name: (colour, SIGNS[hatching]) for _, name, colour, hatching in PARTS}
    entries = [Entry(bar.name, *signs[bar.name]) for bar in figure.data]
    foot_px = add_legend(figure, entries, axis_px=AXIS_PX)
    figure.update_layout(
        barmode="stack",
        height=TOP_PX + AXIS_PX + foot_px + ROW_HEIGHT * len(own),
        margin={"l": 10, "r": 10, "t": TOP_PX, "b": AXIS_PX + foot_px},
        xaxis={"title": "USD per hour", "tickprefix": "$", "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True},
    )
    name_planners(figure, names, {name: plan.planner for name, plan in zip(names, own, strict=True)})
    return figure


def _name(plan: Plan) -> str:
    return f"{plan.planner} (does not hold)" if plan.status is Status.VIOLATING else plan.planner
