"""
Names of planners above their bars, which have all of a narrow page's width then: what people call them, and beside it,
in small, whose rules these are; what commands and files call them stands in the tables.
"""

from collections.abc import Iterable, Mapping

import plotly.graph_objects as go

from sliceplan.solver.wording.planner_words import RULES_OF, plain_name

from .texts import in_chart

ROW_HEIGHT = 44
"""Pixels that a bar takes with its name above it."""

BAR = 0.42
"""Part of a row that its bar takes, in the middle of it."""

ABOVE_PX = 8
"""What the first name needs above the rows."""


def name_planners(figure: go.Figure, planners: Iterable[str], after: Mapping[str, str] | None = None) -> None:
    """
    Puts the names above the bars, in place of those on the vertical axis.

    Parameters
    ----------
    after
        Place on the axis -> planner, where they differ.
    """
    own = after or {}
    for place in planners:
        figure.add_annotation(
            text=_in_a_line(place, own.get(place, place)),
            x=0,
            xref="paper",
            xanchor="left",
            y=place,
            yanchor="bottom",
            yshift=BAR * ROW_HEIGHT / 2,
            showarrow=False,
        )
    figure.update_yaxes(showticklabels=False, ticks="", showgrid=False)
    figure.update_layout(bargap=1 - BAR)


def _in_a_line(place: str, planner: str) -> str:
    plain = plain_name(planner)
    if plain == planner:
        return in_chart(place)
    said = place.removeprefix(planner)  # as (does not hold)
    return f'{in_chart(plain)} <span style="font-size:10px">{in_chart(RULES_OF[planner] + said)}</span>'
