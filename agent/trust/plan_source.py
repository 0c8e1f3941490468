"""
Where a node's plan comes from: a file, or an HTTPS URL that is asked again and again.

The agent asks; nothing asks the agent, so it needs no open port. The answer is not trusted (its signature is what
counts); TLS keeps others from learning the plan or from withholding a new one unnoticed.
"""

import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from .strict_json import MAX_BYTES, refusal


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
            from .https import fetch

            refuse_unless_https(self.location, self.location)
            return fetch(self.location, self.timeout_s, self.ca_file, etag)
        return Fetched(_read_file(Path(self.location)))


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


def _read_file(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise refusal(str(path), "", "is no file" if path.exists() else "is missing")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise refusal(str(path), "", f"cannot be read: {error.strerror or error}") from error
    refuse_large(len(data), str(path))
    return data


def refuse_large(size: int, source: str) -> None:
    """Raises InputError if there are more bytes than any plan has."""
    if size > MAX_BYTES:
        raise refusal(source, "", f"is larger than {MAX_BYTES // 2**20} MiB, which no plan is")
