"""Small pieces of the screen History: choices that are there again on return, and a word on what was done."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from sliceplan.app.session.session import Session
from sliceplan.app.tables.history import SAVED

SAID = "history.said"

COLUMNS = {
    SAVED: st.column_config.DatetimeColumn(SAVED, format="YYYY-MM-DD HH:mm"),
    "cost per hour": st.column_config.NumberColumn("cost per hour", format="$%.2f"),
    "gap": st.column_config.NumberColumn("gap", format="%.1f %%"),
}

OptionT = TypeVar("OptionT")


def choose(
    session: Session,
    name: str,
    label: str,
    options: Sequence[OptionT],
    *,
    words: Callable[[OptionT], str] = str,
    start: OptionT | None = None,
) -> OptionT:
    """Lets the user choose one of some options, at least one; at first `start`, or else the first of them."""
    kept = session.choices.get(name, start)
    index = options.index(kept) if kept in options else 0
    picked = st.selectbox(label, options, index, format_func=words, key=name.replace(".", "_"))
    session.choices[name] = picked
    return picked


def kept_toggle(session: Session, name: str, label: str) -> bool:
    """Lets the user switch something on or off; off at first."""
    session.choices[name] = st.toggle(label, session.choices.get(name, False), key=name.replace(".", "_"))
    return bool(session.choices[name])


def say(session: Session, text: str) -> None:
    """Notes what is said at the top when the screen is drawn next."""
    session.choices[SAID] = text


def said(session: Session) -> str:
    """Returns what is to be said, once."""
    return str(session.choices.pop(SAID, ""))
