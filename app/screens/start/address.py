"""The first screen has the page's own address; who writes it as that of any other screen is, /start, is led there."""

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "start"
"""Of the first screen, in the list of screens."""


class StartAddress:
    """The page's server, which leads from /start to /."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request for /start, and lets the server answer all others."""
        if scope["type"] == "http" and scope["path"].rpartition("/")[2] == PATH and scope["method"] in ("GET", "HEAD"):
            asked = scope["query_string"].decode("latin-1")
            # Relative: the page may stand below a path of its own.
            await RedirectResponse(f"./?{asked}" if asked else "./")(scope, receive, send)
            return
        await self._app(scope, receive, send)
