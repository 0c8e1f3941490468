"""Names of planners beside bars: what people call them, and below it, in small, what commands and files do."""

from collections.abc import Iterable, Mapping

import plotly.graph_objects as go

from sliceplan.solver.wording.planner_words import plain_name

from .texts import in_chart

ROW_HEIGHT = 36
"""Pixels that the two lines of a name take."""


def name_planners(figure: go.Figure, planners: Iterable[str], after: Mapping[str, str] | None = None) -> None:
    """
    Puts the two lines in the place of the names on the vertical axis.

    Parameters
    ----------
    after
        Place on the axis -> planner, where they differ.
    """
    places = list(planners)
    own = after or {}
    figure.update_yaxes(tickvals=places, ticktext=[_two_lines(place, own.get(place, place)) for place in places])


def _two_lines(place: str, planner: str) -> str:
    plain = plain_name(planner)
    if plain == planner:
        return in_chart(place)
    return f'{in_chart(plain)}<br><span style="font-size:9px">{in_chart(place)}</span>'
