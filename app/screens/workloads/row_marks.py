"""What is wrong, said in the rows of a table that is edited: over its grid, as Streamlit's has no place for it."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from sliceplan.app.tables.labels import in_words
from sliceplan.app.tables.pasted_header import Table
from sliceplan.solver.model.errors import printable


def mark_rows(marks: Sequence[str], table: Table) -> None:
    """
    Draws the marks over the grid that was drawn before in the same container; nothing if all rows are right.

    The grid itself stays as it is: another one would take away what is being typed. page.css lays a mark over its row,
    and marks_stay_in_their_rows.js keeps it there as the grid is scrolled.

    Parameters
    ----------
    marks
        Of the rows of the grid, from the top; empty: the row is right.
    """
    if any(marks):
        st.html(_list([in_words(mark, table) for mark in marks]))


def _list(texts: Sequence[str]) -> str:
    rows = "".join(_row(i, text) for i, text in enumerate(texts) if text)
    return f'<ul class="row_marks" aria-label="what is wrong, by row">{rows}</ul>'


def _row(number: int, text: str) -> str:
    said = escape(printable(text))
    return f'<li style="--row: {number}"><span title="{said}">{said}</span></li>'
