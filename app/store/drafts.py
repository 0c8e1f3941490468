"""
Drafts: what somebody works on and has not saved, as files beside the store, so that a restart of the server keeps it.

They are no part of the database: each is written anew with every change, and old ones are deleted. They lie in
`drafts` beside the SQLite file; where the store is PostgreSQL, in the user's data folder on the server's machine.
"""

import re
from contextlib import suppress
from pathlib import Path

from ...solver.formats.text_files import write_text
from .location import database_url, default_file

MOST = 500
"""Drafts that are kept; the one that was changed longest ago goes first."""

TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")


def drafts_folder() -> Path:
    """Returns the folder of the drafts; it need not be there. Raises StoreUrlError as `database_url` does."""
    url = database_url()
    if url.drivername == "sqlite" and "uri" not in url.query:
        return Path(str(url.database)).absolute().parent / "drafts"
    return default_file().parent / "drafts"


def write_draft(folder: Path, token: str, text: str) -> None:
    """Writes a draft in place of what it was; raises InputError or OSError if it cannot."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_text(_file(folder, token), text)
    for path in _by_age(folder)[MOST:]:
        path.unlink(missing_ok=True)


def read_draft(folder: Path, token: str) -> str | None:
    """Returns a draft; None: there is none, or it cannot be read."""
    if not TOKEN.fullmatch(token):
        return None
    try:
        return _file(folder, token).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def _file(folder: Path, token: str) -> Path:
    return folder / f"{token}.json"


def _by_age(folder: Path) -> list[Path]:
    """Returns the drafts of a folder, the one that was changed last first."""
    changed: list[tuple[float, Path]] = []
    for path in folder.glob("*.json"):
        with suppress(OSError):  # another server has deleted it
            changed.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(changed, reverse=True)]
