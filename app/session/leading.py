"""Where a press leads: the screen that is drawn next, in place of the one that the press was on."""

from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from .kept import Kept
from .session import Session

FILES_OPEN = Kept[bool]("plan.files_open")
"""Whether somebody was led to the files of a plan, which are then open where they are offered."""


@dataclass(frozen=True)
class Screen:
    """A screen as the page names it, and as Streamlit does."""

    path: str
    id: str


@dataclass(frozen=True)
class Lead:
    """Where the next run leads, if it is one of the screen that the press was on."""

    away_from: str
    """Streamlit's name of that screen."""
    to: str
    """Path of the other one."""


DRAWN = Kept[Screen]("page.drawn")
"""Where the session keeps the screen that was drawn last."""

LEAD = Kept[Lead]("page.lead")
"""
Where the session keeps where to go until it is there. A run that would go there can be given up for a later one, of the
screen that the browser still shows; then that one goes.
"""


def lead_to_files(session: Session) -> None:
    """Has the next run draw the plan, with its files for what people run."""
    FILES_OPEN.keep(session, True)
    lead_to(session, "plan")


def lead_to(session: Session, path: str) -> None:
    """Has the next run of the page draw another screen."""
    LEAD.keep(session, Lead(asked_for(), path))


def leads_from(session: Session, path: str) -> str | None:
    """Returns the path to go to from the screen that a run is of; None: stay, having come there or gone elsewhere."""
    lead = LEAD.of(session)
    if lead is None or lead.away_from != asked_for() or lead.to == path:
        LEAD.forget(session)
        return None
    return lead.to


def draw_again(session: Session) -> None:
    """
    Draws the page anew from a part of it that is drawn by itself, on the screen that was drawn last.

    A browser that has not yet taken in where a press led asks for the part as one of the screen before, and a rerun
    would draw that one.
    """
    drawn = DRAWN.of(session)
    if drawn is not None:
        lead_to(session, drawn.path)
    st.rerun()


def is_left(session: Session) -> bool:
    """Tells whether the browser asks for a part of a screen that is no more; Streamlit clears the new one for it."""
    drawn = DRAWN.of(session)
    return drawn is not None and drawn.id != asked_for()


def asked_for() -> str:
    """Returns Streamlit's name of the screen that the browser asks for."""
    context = get_script_run_ctx()
    return "" if context is None else context.page_script_hash
