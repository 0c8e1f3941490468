"""Where a press leads: the screen that is drawn next, in place of the one that the press was on."""

from .kept import Kept
from .session import Session

NEXT = Kept[str]("page.next")
"""Where the session keeps the path of the screen until it is drawn."""

FILES_OPEN = Kept[bool]("plan.files_open")
"""Whether somebody was led to the files of a plan, which are then open where they are offered."""


def lead_to_files(session: Session) -> None:
    """Has the next run draw the plan, with its files for what people run."""
    FILES_OPEN.keep(session, True)
    lead_to(session, "plan")


def lead_to(session: Session, path: str) -> None:
    """Has the next run of the page draw another screen."""
    NEXT.keep(session, path)
