"""
Cells of CSV files that spreadsheets open: a text is never taken for a formula.

A spreadsheet computes what begins with one of BEGINNINGS, which may name a program or send what other cells hold. An
apostrophe before it makes it a text, in CSV as where one types it.
"""

Cell = str | int | float | None

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def no_formula(cell: Cell) -> Cell:
    """Returns a cell that is no formula."""
    return f"'{cell}" if isinstance(cell, str) and _begins_one(cell) else cell


def as_written(text: str) -> str:
    """Returns the text that `no_formula` made a cell of."""
    return text[1:] if text[:1] == "'" and _begins_one(text) else text


def _begins_one(text: str) -> bool:
    """Tells whether a text, less the apostrophes before it, is taken for a formula; so that they can be taken away."""
    return text.lstrip("'").startswith(BEGINNINGS)
