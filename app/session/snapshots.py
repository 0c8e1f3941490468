"""Sessions that outlive a reload of the browser: the page's address names a snapshot on the server."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import replace

from .session import Session

MOST = 500
"""Sessions that are kept; the one that was used longest ago goes first."""


class SessionSnapshots:
    """Sessions by a token that nobody guesses."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._worked_on: dict[str, str] = {}
        self._changing = threading.Lock()

    def keep(self, session: Session) -> str:
        """Keeps a session from now on, with all that becomes of it; returns its token."""
        token = secrets.token_urlsafe(12)
        with self._changing:
            self._sessions[token] = session
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
        return token

    def copy_of(self, token: str, user: str) -> Session | None:
        """
        Returns a copy of what a user's session is now; None: it is not kept, or somebody else's.

        A copy, because the browser tab that it belongs to may still be open.
        """
        with self._changing:
            found = self._sessions.get(token)
            if found is None or found.user != user:
                return None
            self._sessions.move_to_end(token)
            return _copy(found)

    def note_work(self, token: str, user: str) -> None:
        """Notes that somebody works in a session of theirs, and not only looks at what it began with."""
        with self._changing:
            self._worked_on[user] = token

    def work_of(self, user: str) -> Session | None:
        """Returns a copy of the session that a user worked in last; None: there is none, or it is no longer kept."""
        return self.copy_of(self._worked_on.get(user, ""), user)


def _copy(session: Session) -> Session:
    own = dict(session.open_jobs), dict(session.results), dict(session.choices)
    return replace(session, open_jobs=own[0], results=own[1], choices=own[2])


KEPT = SessionSnapshots()
"""Those of this server."""
