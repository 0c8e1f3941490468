"""A session that begins with what a link states."""

from collections.abc import Mapping

from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.performance.resolve import resolve

from .kept import Kept
from .links import link_of
from .session import Session, tables_of

WHAT_IF = Kept[WhatIf]("what_if.changes")
"""What is changed on the screen What-if."""


def opened_session(query: Mapping[str, str], user: str) -> Session | None:
    """
    Returns a session with a link's problem and changes; None: the address is no link.

    Raises
    ------
    InputError
        If the link is broken, or its problem refers to something unknown here.
    StoreError
        If the saved problem that it names cannot be had.
    """
    link = link_of(query)
    if link is None:
        return None
    saved_as = link.problem if isinstance(link.problem, VersionKey) else None
    problem = link.problem if isinstance(link.problem, Problem) else problem_at(shared_store(), link.problem)
    resolve(problem, known_profiles(), "link")
    session = Session(user, tables_of(problem), problem, saved_as)
    WHAT_IF.keep(session, link.what_if)
    return session
