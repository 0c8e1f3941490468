"""Asking a server on this node; imported only where a service has such a health check."""

import http.client
import urllib.error
import urllib.request


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follows nothing: the answer must come from this node."""


def ask_http(url: str, timeout_s: float) -> str | None:
    """Returns what is wrong with the answer to a GET; None: it is 200 to 299."""
    # No proxy, whatever the environment says: the URL is of this node.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(url, timeout=timeout_s):
            return None
    except urllib.error.HTTPError as error:
        with error:
            return f"{url} answers {error.code}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"{url}: {getattr(error, 'reason', None) or error}"
