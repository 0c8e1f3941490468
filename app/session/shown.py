"""
What a screen draws: a session's records with services called as people call them (solver/wording/shown_names.py).

A screen makes them at its top, and gives them to pictures, tables and sentences. What it does (jobs, exports, files,
links) takes the records themselves.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from weakref import ref

from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.shown_names import as_shown, shown_name, shown_names, text_as_shown

from .session import Session

ShownT = TypeVar("ShownT")

KEPT = 32
"""Records with labels that are kept, so that what is drawn of them need not be drawn again in each run."""

_names: list[tuple[ref[Problem], dict[str, str]]] = []
_records: list[tuple[ref[Any], Mapping[str, str], Any]] = []


def labels_of(problem: Problem) -> Mapping[str, str]:
    """Returns the label of each service that is not called by its name."""
    for known, names in tuple(_names):
        if known() is problem:
            return names
    names = shown_names(problem)
    _names[:] = [(ref(problem), names), *_names[: KEPT - 1]]
    return names


def named_now(session: Session, problem: Problem) -> Problem:
    """Returns a problem that was answered with the labels of today, which may have been changed since."""
    now = session.problem
    if now is None or now is problem or labels_of(now) == labels_of(problem) or session.is_outdated(problem):
        return problem
    return now


def names_shown(session: Session, problem: Problem) -> Callable[[str], str]:
    """Returns what says how a service of a problem is called."""
    names = labels_of(named_now(session, problem))
    return lambda name: names.get(name, name)


def shown(session: Session, problem: Problem, what: ShownT, before: Problem | None = None) -> ShownT:
    """
    Returns a record, or a dataclass with records in it, with a problem's labels; itself if it has none.

    Parameters
    ----------
    before
        A problem of earlier, for what is said of services that are there no more.
    """
    names = _names_of(session, problem, before)
    if not names or what is None:
        return what
    for known, by, made in tuple(_records):
        if known() is what and by == names:
            found: ShownT = made
            return found
    found = as_shown(what, names)
    _records[:] = [(ref(what), names, found), *_records[: KEPT - 1]]
    return found


def _names_of(session: Session, problem: Problem, before: Problem | None) -> Mapping[str, str]:
    now = named_now(session, problem)
    if before is None or not labels_of(before):
        return labels_of(now)
    there = {one.name for one in now.workloads} | {shown_name(one) for one in now.workloads}
    gone = {name: label for name, label in labels_of(before).items() if not {name, label} & there}
    return {**gone, **labels_of(now)}


def shown_text(session: Session, problem: Problem, text: str) -> str:
    """Returns a sentence with a problem's labels."""
    return text_as_shown(text, labels_of(named_now(session, problem)))
