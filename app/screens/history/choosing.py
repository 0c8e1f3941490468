"""Small pieces of the screen History: choices that are there again on return, and a word on what was done."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.tables.history import SAVED

SAID = Kept[str]("history.said")

COLUMNS = {
    SAVED: st.column_config.DatetimeColumn(SAVED, format="YYYY-MM-DD HH:mm"),
    "cost per hour": st.column_config.NumberColumn("cost per hour", format="$%.2f"),
    # A number alone would be a card's title on a phone.
    "plan": st.column_config.NumberColumn("plan", format="plan %d"),
    "sweep": st.column_config.NumberColumn("sweep", format="sweep %d"),
    "above the least": st.column_config.NumberColumn(
        "above the least", format="%.1f %%", help="at most; or below the most, where most requests are the aim"
    ),
}

NOTES = {"note": 240, "varies": 200}
"""Columns of what people wrote or chose, in as many lines as it takes."""

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
    """
    Lets the user choose one of some options, at least one.

    Until they do, it is `start`, or else the first of them; so that a new version is the one to look at.
    """
    shown = next((one for one in (Kept[OptionT](name).of(session), start) if one in options), options[0])
    key = name if start is None else f"{name}.{start}"
    picked = st.selectbox(label, options, options.index(shown), format_func=words, key=key.replace(".", "_"))
    if picked != shown:
        Kept[OptionT](name).keep(session, picked)
    return picked


def choose_part(session: Session, name: str, parts: Sequence[str]) -> str:
    """Lets the user choose a part of the screen; at first the first of them."""
    kept = Kept[str](name).of(session, parts[0])
    chosen = st.segmented_control("Show", parts, default=kept, key=name.replace(".", "_"), label_visibility="collapsed")
    Kept[str](name).keep(session, chosen or kept)
    return chosen or kept


def kept_toggle(session: Session, name: str, label: str) -> bool:
    """Lets the user switch something on or off; off at first."""
    kept = Kept[bool](name)
    on = st.toggle(label, kept.of(session, False), key=name.replace(".", "_"))
    kept.keep(session, on)
    return on


def say(session: Session, text: str) -> None:
    """Notes what is said at the top when the screen is drawn next."""
    SAID.keep(session, text)


def said(session: Session) -> str:
    """Returns what is to be said, once."""
    return str(SAID.taken(session) or "")
