"""
What the page's server refuses before Streamlit sees it, and the headers that it adds to every answer.

Streamlit takes uploads from whoever has opened the page, logged in or not, reads them whole, and keeps them until some
time after the browser has gone (uploads.py); it answers its metrics to anybody; and of the site that opens a connection
it compares the name alone. So uploads are taken only for sessions of somebody who was let in, and only as many bytes as
there is room for, which the sender states beforehand; metrics are for nobody; and a connection must be asked for by the
page's own address, or by one of the `hosts` of the access file.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .uploads import KEPT_S, Abandoned, Uploads

UPLOADS = "/_stcore/upload_file/"
METRICS = "/_stcore/metrics"

MOST_OF_SESSION = 20 * 2**20
"""Bytes of uploads that a session may keep at once."""

MOST_OF_ALL = 400 * 2**20
"""Bytes that all sessions together may."""

HEADERS = {
    "content-security-policy": "frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # The address names the session, and holds the problem of a link.
    "referrer-policy": "no-referrer",
}


class Admitted:
    """Sessions of somebody who was let in."""

    def __init__(self, most: int = 10_000) -> None:
        self._sessions: dict[str, None] = {}
        self._most = most
        self._changing = threading.Lock()

    def add(self, session: str) -> None:
        """Notes a session; those of longest ago are forgotten, and noted again when their page is drawn."""
        with self._changing:
            self._sessions.pop(session, None)
            self._sessions[session] = None
            while len(self._sessions) > self._most:
                del self._sessions[next(iter(self._sessions))]

    def discard(self, session: str) -> None:
        """Forgets a session."""
        with self._changing:
            self._sessions.pop(session, None)

    def __contains__(self, session: str) -> bool:
        return session in self._sessions


ADMITTED = Admitted()
"""Those of this server."""


class Guard:
    """The page's server behind these rules."""

    def __init__(
        self, app: ASGIApp, uploads: Uploads, hosts: Iterable[str] = (), admitted: Admitted = ADMITTED
    ) -> None:
        self._app, self._uploads, self._admitted = app, uploads, admitted
        self._abandoned = Abandoned(uploads)
        self._hosts = frozenset(host.casefold() for host in hosts)
        self._coming: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or lets Streamlit do so."""
        if scope["type"] == "websocket" and not self._is_own(_headers(scope)):
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "websocket":
            await self._connection(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message.get("headers", ())}
                added = [(name.encode(), text.encode()) for name, text in HEADERS.items() if name.encode() not in there]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        path = scope["path"]
        if METRICS in path:
            await PlainTextResponse("not here", 404)(scope, receive, send_with_headers)
        elif UPLOADS in path and scope["method"] == "PUT":
            await self._upload(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)

    async def _connection(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets Streamlit serve a connection; once it has ended, files that nobody has use for go in time."""
        loop = asyncio.get_running_loop()
        try:
            await self._app(scope, receive, send)
        finally:
            self._abandoned.release(loop.time())
            loop.call_later(KEPT_S + 1, lambda: self._abandoned.release(loop.time()))

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["path"].partition(UPLOADS)[2].partition("/")[0]
        refused = self._refusal(session, _headers(scope))
        if refused is not None:
            await refused(scope, receive, send)
            return
        size = int(_headers(scope)["content-length"])
        self._coming[session] += size
        try:
            await self._app(scope, receive, send)
        finally:
            self._coming[session] -= size
            if not self._coming[session]:
                del self._coming[session]

    def _refusal(self, session: str, headers: Mapping[str, str]) -> PlainTextResponse | None:
        """Returns what is answered to an upload that is not to be read; None: it may be."""
        if session not in self._admitted:
            return PlainTextResponse("log in first", 403)
        stated = headers.get("content-length", "")
        if not stated.isdecimal():
            return PlainTextResponse("an upload states its length", 411)
        kept = self._uploads.kept()
        if kept.get(session, 0) + self._coming[session] + int(stated) > MOST_OF_SESSION:
            return PlainTextResponse(f"at most {MOST_OF_SESSION // 2**20} MiB of files at once; take some away", 413)
        if sum(kept.values()) + self._coming.total() + int(stated) > MOST_OF_ALL:
            return PlainTextResponse("the server keeps too many files now; try again in some minutes", 503)
        return None

    def _is_own(self, headers: Mapping[str, str]) -> bool:
        """Tells whether a connection is asked for by a page of this server; programs name no origin."""
        origin = headers.get("origin")
        if origin is None:
            return True
        asking = urlsplit(origin)
        return asking.netloc.casefold() == headers.get("host", "").casefold() or asking.hostname in self._hosts


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): text.decode("latin-1") for name, text in scope["headers"]}
