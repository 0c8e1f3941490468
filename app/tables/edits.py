"""What was changed in an editor, applied to the table that it began with."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from .problem import typed


def with_edits(start: pd.DataFrame, edits: Mapping[str, Any]) -> pd.DataFrame:
    """
    Returns a table after the edits of a data editor.

    Parameters
    ----------
    edits
        All since the editor began: `edited_rows`, by row of the table and column; `added_rows`; `deleted_rows`.
    """
    rows = start.to_dict("records")
    for row, cells in edits.get("edited_rows", {}).items():
        if int(row) < len(rows):
            rows[int(row)].update(cells)
    gone = {int(row) for row in edits.get("deleted_rows", ())}
    rows = [row for i, row in enumerate(rows) if i not in gone]
    added = [{column: row.get(column) for column in start.columns} for row in edits.get("added_rows", ())]
    return typed(pd.DataFrame([*rows, *added], columns=list(start.columns)))
