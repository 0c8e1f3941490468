"""
The exceptions of sliceplan, and the findings that they carry.

    SliceplanError
    ├── InputError      what the user gave is wrong: exit code 2
    ├── NoPlanError     the input is right, but no plan exists for it: exit code 1
    ├── NoTimeError     a time limit came before any answer: exit code 5
    └── MissingExtraError    an optional dependency is not installed: exit code 2
"""

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .visible import unseen

MAX_PATH = 200
"""Characters of a field's path that are shown; a file may have fields of any name."""


MAX_MESSAGE = 4000
"""Characters of a message that are shown; it may quote what a file holds."""


def printable(text: str, keep: str = "") -> str:
    """Returns a text in which nothing can move a terminal's cursor, hide, or fail to be encoded."""
    hidden = {i for i in unseen(text) if text[i] not in keep}
    return "".join(ascii(char)[1:-1] if i in hidden else char for i, char in enumerate(text)) if hidden else text


def described(error: BaseException) -> str:
    """Returns an unexpected error's kind, its words, and where in sliceplan it came up: what a report of it needs."""
    kind, words = type(error).__name__, str(error)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "solver" in Path(frame.filename).parts]
    where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{kind}{f': {words}' if words else ''}{where}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: where it stands and what would be right."""

    source: str
    """File name, or what takes its place (`<stdin>`, `fleet table`)."""
    path: str
    """Path of the field within the source, as `workloads[3].slo_ms`; empty: the source as a whole."""
    message: str

    def __str__(self) -> str:
        path = self.path if len(self.path) <= MAX_PATH else f"{self.path[:MAX_PATH]}..."
        where = f"{self.source}: {path}" if path else f"{self.source}:"
        # A message may have lines of its own; a name from a file has none.
        text = self.message if len(self.message) <= MAX_MESSAGE else f"{self.message[:MAX_MESSAGE]}..."
        message = printable(text, keep="\n")
        return f"{printable(where)} {message}"


class SliceplanError(Exception):
    """Base of everything that sliceplan raises on purpose."""


class InputError(SliceplanError):
    """Input that cannot be used; carries every finding, not the first one."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))

    def __reduce__(self) -> tuple[type["InputError"], tuple[tuple[Finding, ...]]]:
        return InputError, (self.findings,)  # how it passes from a worker process


class NoPlanError(SliceplanError):
    """A problem that is stated correctly but that no plan can satisfy."""


class NoTimeError(SliceplanError):
    """A time limit that came before any answer."""


class MissingExtraError(SliceplanError):
    """A part of sliceplan was asked for whose optional dependencies are not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed; install it with: pip install 'sliceplan[{extra}]'")
