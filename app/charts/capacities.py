"""What each planner's plan could carry, where that is the objective, and what is proven that none could exceed."""

import plotly.graph_objects as go

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.objective import SAME
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.words import counted
from sliceplan.solver.wording.summary import missed_slos

from .colours import MISSES, PALETTE
from .gaps import BEST, BROKEN, NEEDED
from .limited_bars import under_a_limit
from .planner_names import name_planners

ROOM = 1.05
"""What of the axis is right of the greatest bar or the limit, as a factor."""


def capacity_chart(comparison: Comparison) -> go.Figure:
    """
    Returns one bar a plan: what it could carry, in the objective's unit; the proven limit is a line.

    A plan that misses SLOs has a hatched bar with a red outline: it does not hold. A planner without a plan has none.
    """
    objective, limit = comparison.objective, comparison.best_bound
    known = [(plan, value) for plan in comparison.plans if (value := judged(plan).value) is not None]
    holds = [plan.status is not Status.VIOLATING for plan, _ in known]
    gaps = [comparison.gap_to_bound(plan) for plan, _ in known]
    colours = [
        (BEST if gap is not None and gap <= SAME else NEEDED) if fine else BROKEN
        for gap, fine in zip(gaps, holds, strict=True)
    ]
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        y=[plan.planner for plan, _ in known],
        x=[value for _, value in known],
        marker={
            "color": colours,
            "line": {"color": MISSES, "width": [0 if fine else 2 for fine in holds]},
            "pattern": {"shape": ["" if fine else "/" for fine in holds], "fgcolor": MISSES},
        },
        text=[
            objective.figure(value)
            if fine
            else f"{objective.figure(value)}, {counted(len(missed_slos(plan)), 'service')} late"
            for (plan, value), fine in zip(known, holds, strict=True)
        ],
        hovertemplate=f"%{{y}} could carry %{{x:,.3f}} {objective.unit}<extra></extra>",
    )
    drawn = under_a_limit(
        figure,
        [value for _, value in known],
        title=f"could carry within the SLOs ({objective.unit})",
        limit=limit,
        words="" if limit is None else f"proven: not above {objective.figure(limit)}",
        colour=PALETTE[7],
        room=ROOM,
    )
    name_planners(drawn, [plan.planner for plan, _ in known])
    return drawn
