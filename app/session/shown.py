"""
What a screen draws: a session's records with services called as people call them (solver/wording/shown_names.py).

A screen makes them at its top, and gives them to pictures, tables and sentences. What it does (jobs, exports, files,
links) takes the records themselves.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from weakref import ref

import streamlit as st

from sliceplan.solver.model.labels import labels_of_both
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.shown_names import as_shown, text_as_shown

from .session import Session

ShownT = TypeVar("ShownT")

KEPT = 16
"""Records with labels that a browser session keeps, so that what is drawn of them is not drawn again in each run."""

DRAWN = "shown.records"
"""Where: a tuple of (a record, labels, what was made of these)."""


def named_now(session: Session, problem: Problem) -> Problem:
    """Returns a problem that was answered with the labels of today, which may have been changed since."""
    now = session.problem
    if now is None or now is problem or now.labels == problem.labels or session.is_outdated(problem):
        return problem
    return now


def names_shown(session: Session, problem: Problem) -> Callable[[str], str]:
    """Returns what says how a service of a problem is called."""
    names = named_now(session, problem).labels
    return lambda name: names.get(name, name)


def shown(session: Session, problem: Problem, what: ShownT, before: Problem | None = None) -> ShownT:
    """
    Returns a record, or a dataclass with records in it, with a problem's labels; itself if it has none.

    Parameters
    ----------
    before
        A problem of earlier, for what is said of services that are there no more.
    """
    now = named_now(session, problem)
    names = now.labels if before is None else labels_of_both(before, now)
    if not names or what is None:
        return what
    kept: tuple[tuple[ref[Any], Mapping[str, str], Any], ...] = st.session_state.get(DRAWN, ())
    there = [one for one in kept if one[0]() is not None]
    for known, by, made in there:
        if known() is what and by == names:
            found: ShownT = made
            return found
    found = as_shown(what, names)
    st.session_state[DRAWN] = ((ref(what), names, found), *there[: KEPT - 1])
    return found


def shown_text(session: Session, problem: Problem, text: str) -> str:
    """Returns a sentence with a problem's labels."""
    return text_as_shown(text, named_now(session, problem).labels)
