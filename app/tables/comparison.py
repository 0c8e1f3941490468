"""The planners side by side, as a table and as bars of their gaps."""

import pandas as pd
import plotly.graph_objects as go

from sliceplan.solver.comparison import Comparison
from sliceplan.solver.headline import missed_slos

GOOD, WORSE = "#009E73", "#E69F00"


def comparison_table(comparison: Comparison) -> pd.DataFrame:
    """Returns one row a planner; parts and gaps in percent, NaN where there is no plan or no bound."""
    rows = []
    for plan in comparison.plans:
        gap, metrics = comparison.gap_to_bound(plan), plan.metrics
        missed = missed_slos(plan)
        rows.append(
            {
                "planner": plan.planner,
                "cost per hour": plan.cost_per_hour,
                "GPUs": plan.gpus_used if plan.gpus else None,
                "gap": None if gap is None else 100 * gap,
                "slack": 100 * metrics.internal_slack if metrics and metrics.internal_slack is not None else None,
                "fragmentation": 100 * metrics.external_fragmentation
                if metrics and metrics.external_fragmentation is not None
                else None,
                "missed SLOs": len(missed),
                "worst miss": 100 * max(missed.values()) if missed else None,
                "time (s)": plan.runtime_s,
                "status": plan.status.value,
            }
        )
    frame = pd.DataFrame(rows)
    floats = ["cost per hour", "gap", "slack", "fragmentation", "worst miss", "time (s)"]
    return frame.astype({**dict.fromkeys(floats, "float64"), "GPUs": "Int64"})


def gap_chart(comparison: Comparison) -> go.Figure:
    """Returns one bar a planner: how far its cost is above the proven bound, in percent; none for what has no gap."""
    gaps = [(plan.planner, comparison.gap_to_bound(plan)) for plan in comparison.plans]
    known = [(planner, 100 * gap) for planner, gap in gaps if gap is not None]
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        y=[planner for planner, _ in known],
        x=[gap for _, gap in known],
        marker={"color": [GOOD if gap < 1e-6 else WORSE for _, gap in known]},
        text=["proven cheapest" if gap < 1e-6 else f"+{gap:.1f} %" for _, gap in known],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: %{x:.1f} % above the proven bound<extra></extra>",
    )
    figure.update_layout(
        height=90 + 34 * len(known),
        margin={"l": 10, "r": 90, "t": 10, "b": 40},
        xaxis={"title": "cost above the proven bound (%)", "rangemode": "tozero", "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True},
    )
    return figure
