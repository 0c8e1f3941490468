"""The rows of a table that are wrong, with the wrong cells marked and what would be right."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from sliceplan.app.tables.labels import in_words, texts_of
from sliceplan.app.tables.pasted_header import Table
from sliceplan.app.tables.problem import MARK
from sliceplan.app.widgets.tables import heads_of, show_table

MOST_SHOWN = 50
WRONG = "background-color: #F8D0C8; color: black"


def show_marks(frame: pd.DataFrame, marks: Sequence[str], says: str, table: Table, name: str) -> None:
    """Shows the rows that have a mark, numbered as in the table above; nothing if all are right. `name`: the place."""
    wrong = [i for i, mark in enumerate(marks) if mark]
    if not wrong:
        return
    more = f" The first {MOST_SHOWN} are shown." if len(wrong) > MOST_SHOWN else ""
    st.error(f"{len(wrong)} row{'s' if len(wrong) > 1 else ''} of this table {says}:{more}")
    wrong = wrong[:MOST_SHOWN]
    columns = [{part.split(" ")[0].split("[")[0] for part in marks[i].split("; ")} for i in wrong]
    rows = frame.loc[wrong]
    shown = [name for i, name in enumerate(rows.columns) if i == 0 or any(name in bad for bad in columns)]
    cells = rows[shown].astype("object").map(_text)
    cells.insert(0, "row", [str(i + 1) for i in wrong])
    cells[MARK] = [in_words(marks[i], table) for i in wrong]
    cells = cells.reset_index(drop=True)

    def red(row: "pd.Series[Any]") -> list[str]:
        return [WRONG if name in columns[int(str(row.name))] else "" for name in row.index]

    show_table(
        cells.style.apply(red, axis="columns"),
        f"wrong_{name}",
        columns={
            **heads_of(texts_of(table)),
            "row": st.column_config.TextColumn(width=50),
            MARK: st.column_config.TextColumn(width="large"),
        },
    )


def _text(cell: object) -> str:
    if pd.isna(cell):  # type: ignore[call-overload]  # a scalar, whatever its type
        return ""
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
