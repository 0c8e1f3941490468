"""
A link that is opened by somebody who has work of their own: what it would take the place of is said before it does.

The work stays as it is, in the tab that it was done in and among the drafts; over a copy of it the link's problem is
opened as any other, so that undo goes back from there too.
"""

from .deep_link import WHAT_IF
from .kept import Kept
from .session import Session, open_problem

OFFERED = Kept[Session]("link.offered")
"""Where a session keeps what a link opens until somebody says whether it shall."""


def is_asked(work: Session, linked: Session) -> bool:
    """Tells whether a link states another problem than somebody works on."""
    return work.problem is None or work.problem != linked.problem


def open_offered(session: Session) -> None:
    """Opens what the link states in the place of the session's work."""
    linked = OFFERED.taken(session)
    if linked is None or linked.problem is None:
        return
    open_problem(session, linked.problem, linked.saved_as)
    if (changes := WHAT_IF.of(linked)) is not None:
        WHAT_IF.keep(session, changes)


def stay(session: Session) -> None:
    """Leaves the session's work as it is; the link can be opened again."""
    OFFERED.forget(session)
