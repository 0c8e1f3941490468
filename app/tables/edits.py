"""What was changed in an editor, applied to the table that it began with."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .problem import typed


def rows_in_editor(start: pd.DataFrame, edits: Mapping[str, Any], seen: Sequence[int] | None = None) -> list[int]:
    """
    Returns the row of the edited table for each row that an editor shows, from the top; empty new rows count too.

    Parameters
    ----------
    start, edits, seen
        As of `with_edits`.
    """
    seen = range(len(start)) if seen is None else seen
    gone = _gone(edits, seen)
    kept = [row for row in range(len(start)) if row not in gone]
    place = {row: i for i, row in enumerate(kept)}
    added = range(len(kept), len(kept) + len(edits.get("added_rows", ())))
    return [*(place[row] for row in seen if row not in gone), *added]


def _gone(edits: Mapping[str, Any], seen: Sequence[int]) -> set[int]:
    return {seen[int(row)] for row in edits.get("deleted_rows", ()) if int(row) < len(seen)}


def with_edits(start: pd.DataFrame, edits: Mapping[str, Any], seen: Sequence[int] | None = None) -> pd.DataFrame:
    """
    Returns a table after the edits of a data editor.

    Parameters
    ----------
    seen
        The rows of the table that the editor has, in its order; None: all. New rows come at the end of the table.
    edits
        All since the editor began: `edited_rows`, by row of the editor and column; `added_rows`; `deleted_rows`. Empty
        rows at the end are no part of the table until something is in them.
    """
    rows = start.to_dict("records")
    seen = range(len(rows)) if seen is None else seen
    for row, cells in edits.get("edited_rows", {}).items():
        if int(row) < len(seen):
            rows[seen[int(row)]].update(cells)
    gone = _gone(edits, seen)
    rows = [row for i, row in enumerate(rows) if i not in gone]
    added = [{column: row.get(column) for column in start.columns} for row in edits.get("added_rows", ())]
    # The line end after the last row of a spreadsheet's cells adds a row of nothing; so does the button for a new row.
    while added and all(cell is None or cell == "" for cell in added[-1].values()):
        added.pop()
    return typed(pd.DataFrame([*rows, *added], columns=list(start.columns)))
