"""
Where a node's plan comes from: a file, or an HTTPS URL that is asked again and again.

The agent asks; nothing asks the agent, so it needs no open port. The answer is not trusted (its signature is what
counts); TLS keeps others from learning the plan or from withholding a new one unnoticed.
"""

import http.client
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any

from .strict_json import MAX_BYTES, refusal

USER_AGENT = "sliceplan-agent"

MAX_REDIRECTS = 3


@dataclass(frozen=True)
class Fetched:
    """What a plan source holds now."""

    data: bytes
    etag: str | None = None
    """What the server calls this version; None: it says nothing, or the source is a file."""


@dataclass(frozen=True)
class PlanSource:
    """A file or an HTTPS URL."""

    location: str
    timeout_s: float = 10.0
    ca_file: Path | None = None
    """Certificates that the server's must descend from; None: the system's."""

    def fetch(self, etag: str | None = None) -> Fetched | None:
        """
        Returns the content; None: it is still the version that `etag` names.

        Raises
        ------
        InputError
            If it cannot be read, is too large, or comes from elsewhere than a file or an HTTPS URL.
        """
        if "://" in self.location:
            return self._fetch_url(etag)
        return Fetched(_read_file(Path(self.location)))

    def _fetch_url(self, etag: str | None) -> Fetched | None:
        refuse_unless_https(self.location, self.location)
        request = urllib.request.Request(self.location, headers={"User-Agent": USER_AGENT})
        if etag is not None:
            request.add_header("If-None-Match", etag)
        try:
            with self._opener().open(request, timeout=self.timeout_s) as answer:
                return Fetched(self._read(answer), answer.headers.get("ETag"))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 304 and etag is not None:
                    return None
                message = f"answers {error.code} {error.reason}; expected 200 and a signed plan"
            raise refusal(self.location, "", message) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise refusal(self.location, "", f"cannot be fetched: {reason}") from error

    def _read(self, answer: Any) -> bytes:
        """Reads an answer; the time limit is one for all of it, for a server could send a byte now and then."""
        end = time.monotonic() + self.timeout_s
        data = bytearray()
        while chunk := answer.read1(1 << 16):
            data += chunk
            _refuse_large(len(data), self.location)
            if time.monotonic() > end:
                raise TimeoutError(f"not complete after {self.timeout_s:g} s")
        return bytes(data)

    def _opener(self) -> urllib.request.OpenerDirector:
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise refusal(str(self.ca_file), "", f"cannot be read as certificates (PEM): {error}") from error
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


def refuse_unless_https(url: str, source: str) -> None:
    """Raises InputError if a URL is anything but https://HOST..., without a name and password in it."""
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise refusal(source, "", f"is no URL: {error}") from error
    if parts.scheme != "https" or not host:
        raise refusal(source, "", "is neither a path nor an HTTPS URL; expected one of them")
    if parts.username is not None or parts.password is not None:
        raise refusal(
            source.replace(parts.netloc, host),
            "",
            "holds a password, which would end up in logs; the plan's signature needs none",
        )


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to HTTPS only."""

    max_redirections = MAX_REDIRECTS

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Any:
        refuse_unless_https(newurl, f"{req.full_url}: the redirect to {newurl!r}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _read_file(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise refusal(str(path), "", "is no file" if path.exists() else "is missing")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise refusal(str(path), "", f"cannot be read: {error.strerror or error}") from error
    _refuse_large(len(data), str(path))
    return data


def _refuse_large(size: int, source: str) -> None:
    if size > MAX_BYTES:
        raise refusal(source, "", f"is larger than {MAX_BYTES // 2**20} MiB, which no plan is")
