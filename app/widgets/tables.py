"""
Tables that are read: a grid where there is room, and the same rows as a list of cards on a phone.

The server does not know how wide a browser's window is, so both are on the page and page.css shows one of them.
"""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from sliceplan.solver.model.errors import printable

MOST_CARDS = 40
"""Rows that are drawn as cards at first: a phone reads few, and every window is sent them."""

MOST_LINES = 4
"""Of a cell: one long text would make all rows as high."""

ROW_PX, LINE_PX, LETTER_PX, PADDING_PX = 35, 20, 7.0, 16
"""A row of one line, a further line, a letter's width on average, and what a cell leaves free at its sides."""

LEAST_WRAPPED_PX = 65
"""Rows of less keep to one line in Streamlit."""

LONG = 20
"""Letters of a fact that has no other beside it."""


def show_table(
    table: pd.DataFrame | Styler,
    name: str,
    *,
    columns: Mapping[str, Any] | None = None,
    folded: Collection[str] = (),
    at_once: int = MOST_CARDS,
    titles: int = 1,
    wrapped: Mapping[str, int] | None = None,
    **options: Any,
) -> Any:
    """
    Draws a table and returns what `st.dataframe` does.

    Parameters
    ----------
    name
        Of the place on the page; no two that are drawn together have the same.
    columns
        Streamlit's column configuration; the cards take its labels and number formats.
    folded
        Columns that a card has behind "More".
    at_once
        Cards that are open at first; the others are behind one press.
    titles
        Columns, from the first, that a card has as its title.
    wrapped
        Columns of texts that have as many lines as they need, up to MOST_LINES, and their widths in pixels.
    options
        Of `st.dataframe`.
    """
    frame = table if isinstance(table, pd.DataFrame) else _data(table)
    widths = {column: width for column, width in (wrapped or {}).items() if column in frame}
    config = {**(columns or {}), **{column: _at_width(columns, column, width) for column, width in widths.items()}}
    if widths:
        options["row_height"] = row_height_px(frame, widths)
    with st.container(key=f"grid_{name}"):
        drawn = st.dataframe(table, hide_index=True, width="stretch", column_config=config or None, **options)
    with st.container(key=f"cards_{name}"):
        show_cards(frame, name, columns or {}, folded=folded, at_once=at_once, titles=titles)
    return drawn


def row_height_px(frame: pd.DataFrame, widths: Mapping[str, int]) -> int:
    """Returns the height of a table's rows in which the longest texts of some columns of such widths are read."""
    lines = max(
        (
            len(wrap(str(text), max(int((width - PADDING_PX) / LETTER_PX), 1))) if not pd.isna(text) else 1
            for column, width in widths.items()
            for text in frame[column]
        ),
        default=1,
    )
    return ROW_PX if lines <= 1 else max(ROW_PX + LINE_PX * (min(lines, MOST_LINES) - 1), LEAST_WRAPPED_PX)


def _at_width(columns: Mapping[str, Any] | None, column: str, width: int) -> dict[str, Any]:
    known = (columns or {}).get(column) or st.column_config.TextColumn(column)
    return {**known, "width": width}


def heads_of(texts: Mapping[str, str]) -> dict[str, Any]:
    """Returns the column configuration of a table that is only read; `texts`: what each column is called."""
    return {name: st.column_config.Column(text) for name, text in texts.items()}


def show_cards(
    frame: pd.DataFrame,
    name: str,
    columns: Mapping[str, Any],
    *,
    wrong: str = "",
    folded: Collection[str] = (),
    at_once: int = MOST_CARDS,
    titles: int = 1,
) -> None:
    """
    Draws the first rows as cards, and the way to more: each press doubles them, so that none is many presses away.

    Parameters
    ----------
    name
        Of the place on the page.
    wrong
        The column that says what is wrong with a row; empty: there is none.
    folded, at_once, titles
        As for `show_table`.
    """
    kept, rows = f"cards_of_{name}", len(frame)
    of, count = st.session_state.get(kept, (rows, MOST_CARDS))
    count = count if of == rows else MOST_CARDS  # of another table there
    st.html(cards(frame.head(count), columns, wrong, folded, at_once=at_once, titles=titles))
    if rows <= MOST_CARDS:
        return

    def show_more() -> None:
        st.session_state[kept] = (rows, 2 * count)

    st.caption(f"The first {count:,} of {rows:,} rows." if count < rows else f"All {rows:,} rows.")
    if count < rows:
        st.button(f"Show {min(count, rows - count):,} more", key=f"cards_more_{name}", on_click=show_more)


def cards(
    frame: pd.DataFrame,
    columns: Mapping[str, Any],
    wrong: str = "",
    folded: Collection[str] = (),
    *,
    at_once: int = MOST_CARDS,
    titles: int = 1,
) -> str:
    """
    Returns rows as an HTML list, empty cells left out and wrong rows marked; arguments as for `show_cards`.

    One card alone is not put behind a press, which takes as much room.
    """
    names = [str(name) for name in frame.columns]
    rows = [_card(row, names, columns, wrong, folded, titles) for row in frame.itertuples(index=False)]
    behind = len(rows) - at_once
    if at_once >= MOST_CARDS or behind <= 1:
        return _list(rows)
    return (
        f"{_list(rows[:at_once])}<details><summary>Show the other {behind}</summary>{_list(rows[at_once:])}</details>"
    )


def _list(rows: Sequence[str]) -> str:
    return f'<ul class="cards">{"".join(rows)}</ul>'


def _data(styled: Styler) -> pd.DataFrame:
    data: pd.DataFrame = vars(styled)["data"]
    return data


def _card(
    row: tuple[Any, ...],
    names: list[str],
    columns: Mapping[str, Any],
    wrong: str,
    folded: Collection[str],
    titles: int,
) -> str:
    texts = [_shown(value, columns.get(name)) for name, value in zip(names, row, strict=True)]
    facts = [
        (name, _fact(_label(name, columns.get(name)), text))
        for name, text in zip(names[titles:], texts[titles:], strict=True)
        if text
    ]
    first = _facts([fact for name, fact in facts if name not in folded])
    more = _facts([fact for name, fact in facts if name in folded])
    behind = f"<details><summary>More</summary>{more}</details>" if more else ""
    kind = ' class="wrong"' if wrong in names and texts[names.index(wrong)] else ""
    parts = [
        # A number alone does not say what it is of.
        f"{_label(name, columns.get(name))} {text}" if text[0].isdigit() and not isinstance(value, str) else text
        for name, value, text in zip(names[:titles], row, texts, strict=False)
        if text
    ]
    title = ", ".join(parts) or names[0]
    return f"<li{kind}><strong>{_text(title)}</strong>{first}{behind}</li>"


def _facts(facts: list[str]) -> str:
    return f"<dl>{''.join(facts)}</dl>" if facts else ""


def _fact(label: str, text: str) -> str:
    kind = ' class="long"' if len(label) + len(text) > LONG else ""
    return f"<div{kind}><dt>{_text(label)}</dt><dd>{_text(text)}</dd></div>"


def _label(name: str, column: Any) -> str:
    return str(column.get("label") or name) if isinstance(column, Mapping) else name


def _shown(value: Any, column: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if value is None or bool(pd.isna(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d %H:%M}"
    form = (column.get("type_config") or {}).get("format") if isinstance(column, Mapping) else None
    if form == "dollar":
        return f"${value:,.2f}"
    if form and "%" in form and isinstance(value, int | float):
        return str(form % value)
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _text(text: str) -> str:
    return escape(printable(text))
