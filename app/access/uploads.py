"""
What browsers uploaded and the server keeps, and when it lets go of it.

Streamlit forgets a session two minutes after its browser has gone, but looks only when the next browser goes: files of
the last visitor would stay for ever. So whenever a connection ends they are looked at, then and KEPT_S later.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

KEPT_S = 120.0
"""Seconds for which the files of a session are kept without a browser: it may come back, and finds them there."""


@dataclass(frozen=True)
class Uploads:
    """Where a server keeps uploaded files."""

    kept: Callable[[], Mapping[str, int]]
    """Gives the bytes that each session keeps."""
    is_connected: Callable[[str], bool]
    """Tells whether a session has a browser now."""
    remove: Callable[[str], None]
    """Lets go of all files of a session."""


@dataclass
class Abandoned:
    """Sessions with files and without a browser."""

    uploads: Uploads
    _since: dict[str, float] = field(default_factory=dict)
    """Seconds, on any clock, at which each was first seen without one."""

    def release(self, now: float) -> None:
        """Lets go of the files of sessions that had no browser for KEPT_S; `now`: seconds on the same clock."""
        gone = [session for session in self.uploads.kept() if not self.uploads.is_connected(session)]
        self._since = {session: self._since.get(session, now) for session in gone}
        for session, since in list(self._since.items()):
            if now - since >= KEPT_S:
                self.uploads.remove(session)
                del self._since[session]


def uploads_of_streamlit() -> Uploads:
    """Returns where Streamlit keeps uploads; its server need not run yet."""
    from streamlit.runtime import Runtime

    def kept() -> dict[str, int]:
        storage: dict[str, dict[str, Any]] = getattr(Runtime.instance().uploaded_file_mgr, "file_storage", {})
        files_of = list(storage.items())
        return {session: sum(len(file.data) for file in list(files.values())) for session, files in files_of}

    return Uploads(
        kept,
        lambda session: Runtime.instance().is_active_session(session),
        lambda session: Runtime.instance().uploaded_file_mgr.remove_session_files(session),
    )
