"""What each planner's plan costs, and how much of that is more than what is proven to be needed."""

from collections.abc import Sequence

import plotly.graph_objects as go

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.objective import SAME
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.words import counted
from sliceplan.solver.wording.summary import missed_slos

from .colours import GREY, IDLE, MISSES, PALETTE, text_on
from .legends import CAMERA_PX, Entry, add_legend
from .planner_names import ABOVE_PX, BAR, ROW_HEIGHT, name_planners

BEST, NEEDED, MORE, BROKEN = PALETTE[2], PALETTE[0], IDLE, "#D9D9D9"

MEANINGS = (
    Entry("as cheap as any plan can be", BEST),
    Entry("what any plan must cost", NEEDED),
    Entry("more than needed", MORE),
    Entry("does not hold", MISSES, "□"),
)

LINE_PX = 20
"""Above the first bar: what the line says."""

AXIS_PX = 55
"""Below the last: what the axis says."""

RIGHT_PX = 16
"""For the half of the last figure of the axis."""


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
        said = [f"★ {_usd(plan)}" for plan in best]
        _add_bars(figure, "as cheap as any plan can be", BEST, best, said)
        _say(figure, best, said, BEST)
    if dearer:
        said = [f"{_usd(plan)}, +{100 * gaps[plan.planner]:.1f} %" for plan in dearer]
        _add_bars(figure, "more than needed", MORE, dearer, said)
        figure.add_bar(
            name="what any plan must cost",
            orientation="h",
            y=[plan.planner for plan in dearer],
            x=[bound] * len(dearer),
            marker={"color": NEEDED},
            hovertemplate="%{y}: at least $%{x:,.2f} per hour is needed<extra></extra>",
        )
        _say(figure, dearer, said, NEEDED)
    if broken:
        _add_broken(figure, broken)
    drawn = [plan for plan in comparison.plans if plan.planner in gaps or plan in broken]
    highest = max([plan.cost_per_hour or 0.0 for plan in drawn], default=1.0)
    order = [plan.planner for plan in drawn]
    _add_bound(figure, bound, len(order), is_right=bound > highest / 2)
    foot_px = add_legend(
        figure, [one for one in MEANINGS if one.name in {bar.name for bar in figure.data}], axis_px=AXIS_PX
    )
    top_px = CAMERA_PX + LINE_PX + ABOVE_PX
    figure.update_layout(
        barmode="overlay",
        height=top_px + AXIS_PX + foot_px + ROW_HEIGHT * len(order),
        margin={"l": 10, "r": RIGHT_PX, "t": top_px, "b": AXIS_PX + foot_px},
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
            "fixedrange": True,
            "categoryorder": "array",
            "categoryarray": order,
        },
    )
    name_planners(figure, order)
    return figure


def _usd(plan: Plan) -> str:
    return f"${plan.cost_per_hour or 0.0:,.2f}"


def _add_bars(figure: go.Figure, name: str, colour: str, plans: Sequence[Plan], said: Sequence[str]) -> None:
    figure.add_bar(
        name=name,
        orientation="h",
        y=[plan.planner for plan in plans],
        x=[plan.cost_per_hour for plan in plans],
        marker={"color": colour},
        text=said,
        textposition="none",
        hovertemplate="%{y}: %{text}<extra></extra>",
    )


def _say(figure: go.Figure, plans: Sequence[Plan], said: Sequence[str], colour: str) -> None:
    """Writes on bars where they begin, on a ground of a colour, as a bar may be shorter than what is said."""
    for plan, text in zip(plans, said, strict=True):
        figure.add_annotation(
            text=text,
            x=0,
            xanchor="left",
            xshift=4,
            y=plan.planner,
            showarrow=False,
            bgcolor=colour,
            borderpad=1,
            font={"color": text_on(colour)},
        )


def _add_bound(figure: go.Figure, bound: float, rows: int, *, is_right: bool) -> None:
    """Draws the line that no plan's cost is left of, over bars and not names; its words are where there is room."""
    if not bound:
        return
    for row in range(rows):
        ends = {"y0": row - BAR / 2 - OVER, "y1": row + BAR / 2 + OVER}
        figure.add_shape(type="line", x0=bound, x1=bound, **ends, line={"color": GREY, "width": 2})
    figure.add_annotation(
        text=f"proven: not below ${bound:,.2f}",
        x=bound,
        xanchor="right" if is_right else "left",
        y=1.0,
        yref="paper",
        yanchor="bottom",
        yshift=ABOVE_PX,
        showarrow=False,
    )


OVER = 0.08
"""Parts of a row by which the line is longer than a bar is high."""


def _add_broken(figure: go.Figure, broken: Sequence[Plan]) -> None:
    late = [(plan, missed_slos(plan)) for plan in broken]
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
        textposition="none",
        hovertemplate="%{y}: $%{x:,.2f} per hour, but %{customdata}<extra></extra>",
    )
    # Whom it makes late, and by how much, takes more room than a phone has.
    said = [f"{_usd(plan)}, {_late(len(missed)) if missed else 'does not hold'}" for plan, missed in late]
    _say(figure, broken, said, BROKEN)


def _missing(plan: Plan) -> str:
    missed = missed_slos(plan)
    if not missed:
        return "gives away more than there is"
    worst = 100 * max(missed.values())
    excess = f"{worst:.0f} %" if worst >= 1 else f"{worst:.1f} %"
    return f"{_late(len(missed))}, by up to {excess} above the latency limit"


def _late(services: int) -> str:
    return f"{counted(services, 'service')} late"
