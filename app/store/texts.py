"""The names, authors and notes that people type, held to what both databases can keep."""

from collections.abc import Iterator
from unicodedata import category

from ...solver.model.errors import Finding, InputError
from .tables import AUTHOR_CHARACTERS, NAME_CHARACTERS

NOTE_CHARACTERS = 2000


def check_texts(*, author: str, note: str = "", name: str | None = None) -> None:
    """Raises InputError with every finding if a text is missing, too long, or has characters that do not print."""
    findings = [
        *_findings("author", author, AUTHOR_CHARACTERS),
        *_findings("note", note, NOTE_CHARACTERS, multiline=True),
    ]
    if name is not None:
        findings += _findings("name", name, NAME_CHARACTERS)
    if findings:
        raise InputError(findings)


def _findings(field: str, text: str, most: int, *, multiline: bool = False) -> Iterator[Finding]:
    if not multiline and text != text.strip():
        yield Finding("<store>", field, "begins or ends with a blank; expected none there")
    if not multiline and not text.strip():
        yield Finding("<store>", field, f"is empty; expected 1 to {most} characters")
    if len(text) > most:
        yield Finding("<store>", field, f"has {len(text)} characters; expected at most {most}")
    # Cc: control characters, NUL of which PostgreSQL refuses; Cs: halves of characters, which are no UTF-8.
    allowed = "\n\t" if multiline else ""
    if odd := sorted({sign for sign in text if category(sign) in ("Cc", "Cs") and sign not in allowed}):
        yield Finding("<store>", field, f"has characters that do not print: {', '.join(map(ascii, odd))}")
