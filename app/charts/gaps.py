"""What each planner's plan costs, and how much of that is more than what is proven to be needed."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.objective import SAME
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.wording.summary import missed_slos

from .colours import GREY, IDLE, MISSES, PALETTE
from .legends import legend_on_top, room_px
from .planner_names import ROW_HEIGHT, name_planners

BEST, NEEDED, MORE, BROKEN = PALETTE[2], PALETTE[0], IDLE, "#D9D9D9"

TEXT_PX = 118
"""Right of the longest bar: what a plan costs, and how much that is above the bound."""

LINE_PX = 18
"""Above the first bar: what the line says."""


def gap_chart(comparison: Comparison) -> go.Figure:
    """
    Returns one bar a planner, in its order: its cost in USD per hour, from 0; the proven bound is a line.

    A plan as cheap as any can be has a bar and a star of its own colour. Of the others, what any plan must cost is dark
    and what is more than that is light. A plan that misses SLOs has a hatched bar with a red outline, wherever its cost
    is: it does not hold. A planner without a plan, and any planner where no bound is proven, has no bar.
    """
    bound = comparison.bound.cost_per_hour or 0.0
    gaps = {plan.planner: gap for plan in comparison.plans if (gap := comparison.gap_to_bound(plan)) is not None}
    broken = [plan for plan in comparison.plans if plan.status is Status.VIOLATING and plan.cost_per_hour and bound]
    best = [plan for plan in comparison.plans if gaps.get(plan.planner, 1.0) <= SAME]
    dearer = [plan for plan in comparison.plans if gaps.get(plan.planner, 0.0) > SAME]
    figure = go.Figure()
    if best:
        _add_bars(figure, "as cheap as any plan can be", BEST, best, [f"★ {_usd(plan)}" for plan in best])
    if dearer:
        said = [f"{_usd(plan)}, +{100 * gaps[plan.planner]:.1f} %" for plan in dearer]
        _add_bars(figure, "more than needed", MORE, dearer, said)
        figure.add_bar(
            name="what any plan must cost",
            orientation="h",
            y=[plan.planner for plan in dearer],
            x=[bound] * len(dearer),
            marker={"color": NEEDED},
            legendrank=NEXT,  # before the rest, over which it is drawn
            hovertemplate="%{y}: at least $%{x:,.2f} per hour is needed<extra></extra>",
        )
    if broken:
        _add_broken(figure, broken, bound)
    drawn = [plan for plan in comparison.plans if plan.planner in gaps or plan in broken]
    highest = max([plan.cost_per_hour or 0.0 for plan in drawn], default=1.0)
    _add_bound(figure, bound, is_right=bound > highest / 2)
    legend_px = room_px(len(figure.data), 1)
    order = [plan.planner for plan in drawn]
    figure.update_layout(
        barmode="overlay",
        height=legend_px + LINE_PX + 50 + ROW_HEIGHT * len(order),
        margin={"l": 10, "r": 150 if broken else TEXT_PX, "t": legend_px + LINE_PX, "b": 50},
        legend=legend_on_top(traceorder="normal", xref="container"),
        xaxis={
            "title": "USD per hour",
            "tickprefix": "$",
            "range": [0, highest],
            "nticks": 4,
            "tickangle": 0,
            "fixedrange": True,
        },
        yaxis={
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "categoryorder": "array",
            "categoryarray": order,
        },
    )
    name_planners(figure, order)
    return figure


FIRST, NEXT, REST = 1, 2, 3
"""Places in the legend, which are others than the order of drawing."""


def _usd(plan: Plan) -> str:
    return f"${plan.cost_per_hour or 0.0:,.2f}"


def _add_bars(figure: go.Figure, name: str, colour: str, plans: Sequence[Plan], said: Sequence[str]) -> None:
    figure.add_bar(
        name=name,
        orientation="h",
        y=[plan.planner for plan in plans],
        x=[plan.cost_per_hour for plan in plans],
        marker={"color": colour},
        legendrank=FIRST if colour == BEST else REST,
        text=said,
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: %{text}<extra></extra>",
    )


def _add_bound(figure: go.Figure, bound: float, *, is_right: bool) -> None:
    """Draws the line that no plan's cost is left of; its words are on the side that has more room."""
    if not bound:
        return
    figure.add_vline(
        x=bound,
        line={"color": GREY, "width": 2},
        annotation={
            "text": f"proven: not below ${bound:,.2f}",
            "y": 1.0,
            "yanchor": "bottom",
            "xanchor": "right" if is_right else "left",
        },
    )


def _add_broken(figure: go.Figure, broken: Sequence[Plan], bound: float) -> None:
    figure.add_bar(
        name="does not hold",
        orientation="h",
        y=[plan.planner for plan in broken],
        x=[plan.cost_per_hour for plan in broken],
        marker={
            "color": BROKEN,
            "line": {"color": MISSES, "width": 2},
            "pattern": {"shape": "/", "fgcolor": MISSES},
        },
        customdata=[_missing(plan) for plan in broken],
        hovertemplate="%{y}: $%{x:,.2f} per hour, but %{customdata}<extra></extra>",
    )
    for plan in broken:
        figure.add_annotation(
            x=max(plan.cost_per_hour or 0.0, bound),  # not over the line
            y=plan.planner,
            text=f"{_usd(plan)}, does not hold:<br>{_missing(plan, in_short=True)}",
            align="left",
            showarrow=False,
            xanchor="left",
            xshift=4,
        )


def _missing(plan: Plan, *, in_short: bool = False) -> str:
    missed = missed_slos(plan)
    if not missed:
        return "gives away more than there is"
    worst = max(missed.values())
    excess = f"{worst:.0%}" if worst >= 0.01 else f"{worst:.1%}"
    services = "" if in_short else " service" if len(missed) == 1 else " services"
    return f"{len(missed)}{services} late, by up to {excess}"
