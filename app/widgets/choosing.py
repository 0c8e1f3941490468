"""Widgets whose choice is there again when a screen is come back to, and after a reload of the browser."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session


def choose_some(session: Session, name: str, label: str, options: Sequence[str], help_text: str = "") -> list[str]:
    """Lets the user choose some of the options; `name` is where the session keeps them, and the widget's key."""
    known = set(options)
    kept = [one for one in Kept[tuple[str, ...]](name).of(session, ()) if one in known]
    if any(one not in known for one in st.session_state.get(name, ())):
        st.session_state[name] = kept
    st.session_state.setdefault(name, kept)
    chosen: list[str] = st.multiselect(label, options, key=name, help=help_text or None, placeholder="all")
    Kept[tuple[str, ...]](name).keep(session, tuple(chosen))
    return chosen


def choose_one(
    session: Session,
    name: str,
    label: str,
    options: Sequence[Any],
    show: Callable[[Any], str] = str,
    *,
    side_by_side: bool = False,
) -> Any:
    """Lets the user choose one of the options, at first the first one; kept as for `choose_some`."""
    kept = Kept[Any](name).of(session)
    if st.session_state.get(name, kept) not in options:
        st.session_state[name] = options[0]
    st.session_state.setdefault(name, kept)
    if side_by_side:
        chosen = st.segmented_control(label, options, format_func=show, key=name, label_visibility="collapsed")
        # A press on what is chosen already takes the choice away; something is always shown.
        chosen = Kept[Any](name).of(session, options[0]) if chosen is None else chosen
    else:
        chosen = st.selectbox(label, options, format_func=show, key=name)
    Kept[Any](name).keep(session, chosen)
    return chosen


def choose_whether(session: Session, name: str, label: str, help_text: str = "") -> bool:
    """Lets the user switch something on; kept as for `choose_some`."""
    st.session_state.setdefault(name, Kept[bool](name).of(session, False))
    chosen = st.toggle(label, key=name, help=help_text or None)
    Kept[bool](name).keep(session, chosen)
    return chosen
