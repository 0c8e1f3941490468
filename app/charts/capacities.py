"""What each planner's plan could carry, where that is the objective, and what is proven that none could exceed."""

import plotly.graph_objects as go

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.plan import Status
from sliceplan.solver.wording.summary import missed_slos

from .colours import MISSES, PALETTE
from .gaps import BROKEN, GOOD, ROW_HEIGHT, WORSE

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
        (GOOD if gap is not None and gap < 1e-9 else WORSE) if fine else BROKEN
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
            objective.figure(value) if fine else f"{objective.figure(value)}, {len(missed_slos(plan))} late"
            for (plan, value), fine in zip(known, holds, strict=True)
        ],
        hovertemplate=f"%{{y}} could carry %{{x:,.3f}} {objective.unit}<extra></extra>",
    )
    if limit is not None:
        figure.add_vline(
            x=limit,
            line={"color": PALETTE[7], "width": 2},
            annotation={
                "text": f"proven: not above {objective.figure(limit)}",
                "y": 1.0,
                "yanchor": "bottom",
                "xanchor": "right",
            },
        )
    greatest = max([value for _, value in known] + [0.0 if limit is None else limit], default=0.0) or 1.0
    figure.update_layout(
        showlegend=False,
        height=110 + ROW_HEIGHT * len(known),
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        xaxis={
            "title": f"could carry within the SLOs ({objective.unit})",
            "range": [0, greatest * ROOM],
            "fixedrange": True,
        },
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True},
    )
    return figure
