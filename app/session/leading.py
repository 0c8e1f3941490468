"""Where a press leads: the screen that is drawn next, in place of the one that the press was on."""

from .kept import Kept
from .session import Session

NEXT = Kept[str]("page.next")
"""Where the session keeps the path of the screen until it is drawn."""


def lead_to(session: Session, path: str) -> None:
    """Has the next run of the page draw another screen."""
    NEXT.keep(session, path)
