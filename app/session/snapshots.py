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
            return replace(
                found, open_jobs=dict(found.open_jobs), results=dict(found.results), choices=dict(found.choices)
            )


KEPT = SessionSnapshots()
"""Those of this server."""
