"""Texts that others wrote, in charts: plotly takes a text for HTML, with links among it."""

import html

from sliceplan.solver.model.errors import printable


def in_chart(text: str) -> str:
    """Returns a text for plotly in which nothing is HTML."""
    return html.escape(printable(text), quote=False)
