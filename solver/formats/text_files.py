"""Writing a text file so that a reader sees the old file or the new one, never a part."""

import os
from pathlib import Path

from ..model.errors import Finding, InputError


def write_text(path: Path, text: str) -> None:
    """
    Writes a file aside and renames it.

    Raises
    ------
    InputError
        If the file cannot be written; what was there before is untouched then.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            aside.write_text(text, encoding="utf-8", newline="\n")
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be written: {error.strerror or error}")]) from error
