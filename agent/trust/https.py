"""Fetching from an HTTPS server, and from nothing else; imported only where a plan comes from one."""

import http.client
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any

from .plan_source import Fetched, refuse_large, refuse_unless_https
from .strict_json import refusal

USER_AGENT = "sliceplan-agent"

MAX_REDIRECTS = 3


def fetch(url: str, timeout_s: float, ca_file: Path | None, etag: str | None) -> Fetched | None:
    """Returns the answer of a server; None: it is still the version that `etag` names. Raises InputError."""
    request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT})
    if etag is not None:
        request.add_header("If-None-Match", etag)
    try:
        with _opener(ca_file).open(request, timeout=timeout_s) as answer:
            return Fetched(_read(answer, url, timeout_s), answer.headers.get("ETag"))
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 304 and etag is not None:
                return None
            message = f"answers {error.code} {error.reason}; expected 200 and a signed plan"
        raise refusal(url, "", message) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise refusal(url, "", f"cannot be fetched: {reason}") from error


def _read(answer: Any, url: str, timeout_s: float) -> bytes:
    """Reads an answer; the time limit is one for all of it, for a server could send a byte now and then."""
    end = time.monotonic() + timeout_s
    data = bytearray()
    while chunk := answer.read1(1 << 16):
        data += chunk
        refuse_large(len(data), url)
        if time.monotonic() > end:
            raise TimeoutError(f"not complete after {timeout_s:g} s")
    return bytes(data)


def _opener(ca_file: Path | None) -> urllib.request.OpenerDirector:
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise refusal(str(ca_file), "", f"cannot be read as certificates (PEM): {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    opener = urllib.request.OpenerDirector()
    # Only what is needed: the default opener also follows file: and ftp:, and takes proxies from the environment.
    for handler in (
        urllib.request.HTTPSHandler(context=context),
        _HttpsRedirects(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to HTTPS only."""

    max_redirections = MAX_REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> Any:
        refuse_unless_https(newurl, f"{req.full_url}: the redirect to {newurl!r}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
