"""What each planner's plan costs, and how far that is above what is proven to be needed."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.wording.summary import missed_slos

from .colours import MISSES, PALETTE
from .planner_names import ROW_HEIGHT, name_planners

GOOD, WORSE, BROKEN = PALETTE[2], PALETTE[1], "#BDBDBD"


def gap_chart(comparison: Comparison) -> go.Figure:
    """
    Returns one bar a planner: its cost above the proven bound, in percent and in USD; the bound is a line.

    A plan that misses SLOs has a hatched bar with a red outline, wherever its cost is: it does not hold. A planner
    without a plan, and any planner where no bound is proven, has no bar.
    """
    gaps = [(plan, comparison.gap_to_bound(plan)) for plan in comparison.plans]
    known = [(plan.planner, 100 * gap) for plan, gap in gaps if gap is not None]
    costs = [f"${plan.cost_per_hour:,.2f}" for plan, gap in gaps if gap is not None]
    bound = comparison.bound.cost_per_hour
    broken = [
        (plan, 100 * (plan.cost_per_hour / bound - 1))
        for plan in comparison.plans
        if plan.status is Status.VIOLATING and plan.cost_per_hour is not None and bound
    ]
    figure = go.Figure()
    figure.add_bar(
        name="holds",
        orientation="h",
        y=[planner for planner, _ in known],
        x=[gap for _, gap in known],
        marker={"color": [GOOD if gap < 1e-6 else WORSE for _, gap in known]},
        text=[
            f"{cost}, {'proven cheapest' if gap < 1e-6 else f'+{gap:.1f} %'}"
            for (_, gap), cost in zip(known, costs, strict=True)
        ],
        textposition="outside",
        cliponaxis=False,
        customdata=costs,
        hovertemplate="%{y}: %{customdata} per hour, %{x:.1f} % above the proven bound<extra></extra>",
    )
    if broken:
        _add_broken(figure, broken)
    least = "" if bound is None else f"proven: not below ${bound:,.2f}"
    figure.add_vline(
        x=0,
        line={"color": PALETTE[7], "width": 2},
        annotation={"text": least, "y": 1.0, "yanchor": "bottom", "xanchor": "left"},
    )
    order = [plan.planner for plan in comparison.plans if plan.planner in {name for name, _ in known}]
    order += [plan.planner for plan, _ in broken]
    figure.update_layout(
        barmode="overlay",
        showlegend=False,
        height=110 + ROW_HEIGHT * len(order),
        margin={"l": 10, "r": 150, "t": 30, "b": 40},
        xaxis={"title": "cost above the proven bound (%)", "range": _range(known, broken), "fixedrange": True},
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


def _add_broken(figure: go.Figure, broken: Sequence[tuple[Plan, float]]) -> None:
    figure.add_bar(
        name="does not hold",
        orientation="h",
        y=[plan.planner for plan, _ in broken],
        x=[gap for _, gap in broken],
        marker={
            "color": BROKEN,
            "line": {"color": MISSES, "width": 2},
            "pattern": {"shape": "/", "fgcolor": MISSES},
        },
        customdata=[_missing(plan) for plan, _ in broken],
        hovertemplate="%{y}: %{x:.1f} % against the bound, but %{customdata}<extra></extra>",
    )
    for plan, gap in broken:
        figure.add_annotation(
            x=max(gap, 0.0),
            y=plan.planner,
            text=f"${plan.cost_per_hour:,.2f}, does not hold:<br>{_missing(plan, in_short=True)}",
            align="left",
            showarrow=False,
            xanchor="left",
            xshift=4,
        )


def _range(known: Sequence[tuple[str, float]], broken: Sequence[tuple[Plan, float]]) -> tuple[float, float]:
    """Returns the ends of the axis: 0 and all bars, with some room, so that equal plans have an axis too."""
    gaps = [gap for _, gap in known] + [gap for _, gap in broken]
    highest = max([10.0, *gaps])
    lowest = min([0.0, *gaps])
    return (lowest - 0.02 * (highest - lowest) if lowest else 0.0, highest)


def _missing(plan: Plan, *, in_short: bool = False) -> str:
    missed = missed_slos(plan)
    if not missed:
        return "gives away more than there is"
    worst = max(missed.values())
    excess = f"{worst:.0%}" if worst >= 0.01 else f"{worst:.1%}"
    services = "" if in_short else " service" if len(missed) == 1 else " services"
    return f"{len(missed)}{services} late, by up to {excess}"
