"""
Dialogs, which work that ends meanwhile does not close.

Streamlit closes a dialog when the whole page is drawn anew, and what was typed into it is gone. So whoever draws the
page anew by itself asks first whether one is open. The end of a dialog draws the page.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Literal, ParamSpec

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session

Asked = ParamSpec("Asked")

OPEN = Kept[bool]("dialogs.open")
"""Where the session keeps that one was opened since the page was drawn."""

Opening = Callable[Concatenate[Session, Asked], None]


def dialog(title: str, *, width: Literal["medium", "large"]) -> Callable[[Opening[Asked]], Opening[Asked]]:
    """Makes a function that draws a dialog open it; arguments as of `st.dialog`."""

    def made(draw: Opening[Asked]) -> Opening[Asked]:
        drawn = st.dialog(title, width=width, on_dismiss="rerun")(draw)

        @wraps(draw)
        def opened(session: Session, /, *asked: Asked.args, **named: Asked.kwargs) -> None:
            OPEN.keep(session, True)
            drawn(session, *asked, **named)

        return opened

    return made


def none_is_open(session: Session) -> None:
    """Says, before the page is drawn, that no dialog is open."""
    OPEN.forget(session)


def is_open(session: Session) -> bool:
    """Tells whether a dialog is open."""
    return OPEN.is_there(session)
