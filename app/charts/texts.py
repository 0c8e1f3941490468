"""
Texts that others wrote, in charts: plotly takes a text for HTML, with links among it.

Their room is counted in letters: one of Chinese, Japanese or Korean is as wide as two others, a mark over one has none.
"""

import html

from rich.cells import cell_len, set_cell_size

from sliceplan.solver.model.errors import printable


def in_chart(text: str) -> str:
    """Returns a text for plotly in which nothing is HTML."""
    return html.escape(printable(text), quote=False)


def letters_of(text: str) -> int:
    """Returns how many letters wide a text is."""
    return cell_len(text)


def shortened(text: str, most: int) -> str:
    """Returns a text cut to a width in letters, but at least a few."""
    most = max(4, most)
    return text if letters_of(text) <= most else f"{set_cell_size(text, most - 1).rstrip('- ')}…"
