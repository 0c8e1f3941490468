"""
Parts of a screen that are drawn by themselves: what is used in one draws that part anew, and not the page.

That takes server and browser less than half the time; what stands outside, the sidebar too, stays as it was drawn.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import streamlit as st

from sliceplan.app.access.current import current_identity
from sliceplan.app.access.identity import LoginError
from sliceplan.app.session.leading import draw_again, is_left
from sliceplan.app.session.session import Session
from sliceplan.solver.model.errors import InputError

Asked = ParamSpec("Asked")

Draw = Callable[Concatenate[Session, Asked], None]


def part(draw: Draw[Asked]) -> Draw[Asked]:
    """Makes a function that draws into the page draw a part; it may call `draw_again` for all of the page."""

    @wraps(draw)
    def drawn(session: Session, /, *asked: Asked.args, **named: Asked.kwargs) -> None:
        # The page asks both before it is drawn, but a part can be drawn long after.
        if is_left(session) or not _is_admitted():
            draw_again(session)
        draw(session, *asked, **named)

    return st.fragment(drawn)


def _is_admitted() -> bool:
    """Tells whether who looks may still: access can be withdrawn meanwhile, and the page then says so."""
    try:
        current_identity()
    except (LoginError, InputError):
        return False
    return True
