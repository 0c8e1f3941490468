"""
Where a node's plan comes from: a file, or an HTTPS URL that is asked again and again.

The agent asks; nothing asks the agent, so it needs no open port. The answer is not trusted (its signature is what
counts); TLS keeps others from learning the plan or from withholding a new one unnoticed.
"""

import os
import stat
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files.ownership import open_to_everybody
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

    def cautions(self) -> Iterator[str]:
        """Yields how anybody on this node could withhold a plan; nobody could forge one."""
        if "://" in self.location:
            return
        path = Path(self.location).resolve()
        advice = "nobody can forge a plan so, but withhold one"
        try:
            if reason := open_to_everybody(path.parent):
                yield f"{path} {reason} ({advice})"
            if path.stat().st_mode & stat.S_IWOTH:
                yield f"{path} may be changed by everybody; run: chmod o-w {path} ({advice})"
        except OSError:
            return  # what reads it says why it cannot


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
        # A pipe in its place would block without O_NONBLOCK; what is checked is what is open.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 (Path opens no descriptor)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise refusal(str(path), "", "is no file")
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise refusal(str(path), "", "is missing") from error
    except IsADirectoryError as error:
        raise refusal(str(path), "", "is no file") from error
    except OSError as error:
        raise refusal(str(path), "", f"cannot be read: {error.strerror or error}") from error
    refuse_large(len(data), str(path))
    return data


def refuse_large(size: int, source: str) -> None:
    """Raises InputError if there are more bytes than any plan has."""
    if size > MAX_BYTES:
        raise refusal(source, "", f"is larger than {MAX_BYTES // 2**20} MiB, which no plan is")
